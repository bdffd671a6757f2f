/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_upload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/header.h"
#include "populator/source/upload.h"
#include "populator/transfer/cancel_watch.h"
#include "populator/transfer/import_done.h"
#include "populator/transfer/import_front.h"
#include "populator/transfer/import_owner.h"
#include "populator/transfer/import_refusal.h"

struct receiving {
  const struct import_options *options;
  struct source *source;
  char checksum[CHECKSUM_TEXT_MAX]; /* that it must have, or CHECKSUM_ASKED */
  char identity[DIGEST_SHA256_HEX];
  struct target *target;
  struct checkpoint checkpoint;
  struct import_stack stack;
  struct import_tail tail;
};

static void
receiving_clear(struct receiving *r)
{
  import_stack_close(&r->stack);
  import_tail_clear(&r->tail);
  target_close(r->target);
  checkpoint_clear(&r->checkpoint);
}

/* ---- where it goes ----------------------------------------------------------------------------
 */

/* A checksum may be promised after the first piece, so one is always made; only its kind must stay.
 */
static int
choose_checksum(struct receiving *r, struct error **err)
{
  const struct import_options *options = r->options;
  if (options->checksum)
    return checksum_from_text(options->checksum, r->checksum, err);
  (void)snprintf(r->checksum, sizeof(r->checksum), "%s", CHECKSUM_ASKED);
  return 0;
}

static void
make_identity(struct receiving *r)
{
  const char *path = r->options->source.path_in_image;
  CLEANUP(freep)
  char *text = xasprintf("upload\n%s\n%" PRIu64 "\n%s\n%d", r->source->identity, r->source->size,
                         path ? path : "", (int)checksum_kind_of(r->checksum));
  digest_sha256_hex(text, strlen(text), r->identity);
}

/* Whoever sends is better told than kept waiting for one that died. */
static int
check_owner(const struct receiving *r, struct error **err)
{
  struct location *location = r->options->location;
  const char *name = r->options->image;
  CLEANUP(freep) char *id = NULL;
  struct header header;
  if (directory_id_of(location, name, &id, err) < 0 || header_read(location, id, &header, err) < 0)
    return -1;
  int result = import_owner_check(location, name, id, &header.metadata, err);
  header_clear(&header);
  return result;
}

static int
open_target(struct receiving *r, struct error **err)
{
  const struct target_options options = {
      .name = r->options->image,
      .layout = r->options->layout,
      .is_existing = true,
      .source_label = r->source->label,
      .identity = r->identity,
      .virtual_size = TARGET_SIZE_UNKNOWN,
  };
  if (check_owner(r, err) < 0 ||
      target_open(r->options->location, &options, &r->target, &r->checkpoint, err) < 0)
    return -1;
  r->tail = (struct import_tail){.source = r->source,
                                 .image = r->target,
                                 .target = r->target,
                                 .identity = r->identity,
                                 .progress = r->options->progress};
  return 0;
}

/* ---- what it is -------------------------------------------------------------------------------
 */

static int
check_content(const struct receiving *r, struct error **err)
{
  const struct probe *probe = &r->stack.probe;
  uint64_t size = r->stack.content->virtual_size;
  if (probe_is_foreign(probe->format))
    return error_set(err, ERROR_UNIMPLEMENTED, "a %s image cannot be imported while it is sent",
                     probe->name);
  if (import_check_format(r->options->format, probe->name, err) < 0)
    return -1;
  if (size != CONTENT_SIZE_UNKNOWN && target_make_room(r->target, size, err) < 0)
    return error_wrap(err, "a disk of %" PRIu64 " bytes", size);
  return 0;
}

/* Only a qcow2 file goes to a spool; otherwise a state begins with the name of the content. */
static void
recall_format(struct receiving *r)
{
  const struct checkpoint *from = &r->checkpoint;
  bool is_qcow2 = from->kind != CHECKPOINT_STREAM || strcmp(from->state.data, "qcow2") == 0;
  r->stack.probe = is_qcow2 ? (struct probe){.format = PROBE_QCOW2, .name = "qcow2"}
                            : (struct probe){.format = PROBE_RAW, .name = "raw"};
}

/* The streams, from the beginning of the file; where an earlier process got to with them, they are
 * restored later. */
static int
open_stack(struct receiving *r, struct error **err)
{
  const struct checkpoint *from = &r->checkpoint;
  if (from->identity && (from->kind != CHECKPOINT_STREAM || from->state.len > 0)) {
    recall_format(r);
    return 0;
  }
  upload_put_tail(r->source, from->tail.data, from->tail.len);
  atomic_store(&r->options->progress->safe, from->tail.len);
  CLEANUP(error_freep) struct error *failure = NULL;
  if (import_stack_open(r->source, r->checksum, r->options->source.path_in_image, &r->stack,
                        &failure) == 0)
    return check_content(r, err);
  if (failure->code == ERROR_CANCELLED && import_tail_save(&r->tail, err) < 0)
    return -1;
  return error_set(err, failure->code, "%s", failure->message);
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static int
run_front(struct receiving *r, struct import_result *result, struct error **err)
{
  const struct checkpoint *from = r->checkpoint.identity ? &r->checkpoint : NULL;
  const struct import_front_options front = {
      .source = r->source,
      .checksum = r->checksum,
      .ret_digest = result->digest,
      .target = r->target,
      .layout = r->options->layout,
      .identity = r->identity,
      .size = target_size(r->target),
      .workers = r->options->workers,
      .progress = r->options->progress,
      .tail = &r->tail,
  };
  uint64_t end;
  if (from && (from->kind == CHECKPOINT_CHUNKS || from->kind == CHECKPOINT_DONE))
    import_tail_end(&r->tail);
  if (import_front(&front, &r->stack, from, &end, err) < 0)
    return -1;
  result->virtual_size = target_disk_bytes(end);
  (void)snprintf(result->format, sizeof(result->format), "%s", r->stack.probe.name);
  if (strcmp(r->checksum, CHECKSUM_ASKED) != 0)
    (void)snprintf(result->digest, sizeof(result->digest), "%s", r->checksum);
  return 0;
}

static int
commit(struct receiving *r, struct import_result *result, struct error **err)
{
  const struct import_done_mark mark = {IMPORT_DONE_TOKEN, r->options->token};
  struct string_map metadata = {0};
  import_done_write(image_id(target_image(r->target)), &mark, result, &metadata);
  int done = target_commit(r->target, r->options->snapshot, &metadata, err);
  string_map_clear(&metadata);
  if (done == 0)
    import_tail_end(&r->tail);
  return done;
}

static int
receive(struct receiving *r, struct import_result *result, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (open_stack(r, &failure) == 0 && run_front(r, result, &failure) == 0)
    return commit(r, result, err);
  result->is_part = failure->code == ERROR_CANCELLED && !r->tail.is_over;
  if (result->is_part)
    return 0; /* no more comes now, or SIGTERM */
  if (import_is_images_fault(failure->code))
    (void)target_discard(TAKE(r->target), NULL);
  return error_set(err, failure->code, "%s", failure->message);
}

static void
cancel(void *context)
{
  struct source *source = context;
  source->ops->cancel(source);
}

int
import_upload(const struct import_options *options, struct source *source,
              struct import_result *ret_result, struct error **err)
{
  CLEANUP(receiving_clear) struct receiving r = {.options = options, .source = source};
  if (!options->is_existing)
    return error_set(err, ERROR_INVALID_ARGUMENT, "an upload goes to an image that is there");
  if (choose_checksum(&r, err) < 0)
    return -1;
  make_identity(&r);
  if (open_target(&r, err) < 0)
    return -1;
  *ret_result = (struct import_result){.resumed_at = r.checkpoint.position};
  struct cancel_watch *watch = cancel_watch_start(options->progress, cancel, source);
  int result = receive(&r, ret_result, err);
  cancel_watch_stop(watch);
  return result;
}
