/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "populator/source/upload.h"
#include "populator/transfer/cancel_watch.h"
#include "populator/transfer/import_chunks.h"
#include "populator/transfer/import_disk.h"
#include "populator/transfer/import_done.h"
#include "populator/transfer/import_front.h"
#include "populator/transfer/import_refusal.h"
#include "populator/transfer/import_upload.h"

/* An import on its way. */
struct importing {
  const struct import_options *options;
  const char *checksum; /* that is wanted, or NULL */
  struct source *source;
  struct import_disk disk;   /* a source that is read anywhere … */
  struct import_stack stack; /* … or front to back */
  char *identity;            /* of the source and what is asked of it; NULL: cannot be resumed */
  char *outcome;             /* the same of what comes of it; NULL: is not known again */
  struct target *target;
  struct checkpoint checkpoint;
  unsigned seek_losses; /* times that the source could not be read anywhere any more */
};

/* A server that has lost its ranges once may have them again; if not, one stream will do. */
#define SEEK_LOSSES_MAX 2

static void
importing_clear(struct importing *i)
{
  target_close(i->target);
  import_disk_close(&i->disk);
  if (i->stack.content) {
    if (i->source->ops->cancel)
      i->source->ops->cancel(i->source); /* or what is read ahead would be waited for */
    import_stack_close(&i->stack);
  }
  source_close(i->source);
  checkpoint_clear(&i->checkpoint);
  free(i->identity);
  free(i->outcome);
}

/* ---- what it is --------------------------------------------------------------------------------
 */

static int
check_format(const struct importing *i, const char *name, struct error **err)
{
  return import_check_format(i->options->format, name, err);
}

/* A layer around the image and a checksum of the image itself: only a stream proves both. */
static bool
must_stream(const struct importing *i)
{
  return !i->source->can_seek || i->seek_losses == SEEK_LOSSES_MAX ||
         (i->checksum && i->source->ops->digest_begin);
}

/* qemu-nbd reads what it wants of a file, not all of it: what is to be proven must be read before.
 */
static bool
must_prove(const struct importing *i)
{
  return i->checksum || i->source->digest || i->source->ops->digest_begin;
}

/* What the source itself goes by, or NULL. */
static const char *
told_digest(const struct source *source)
{
  return source->digest ? source->digest : source->container ? source->container->digest : NULL;
}

/* What is to be made of the source's bytes on their way, or NULL. */
static const char *
sum_to_make(const struct importing *i)
{
  if (i->checksum)
    return i->checksum;
  return i->options->wants_digest && !told_digest(i->source) ? CHECKSUM_ASKED : NULL;
}

/* Chooses the way. */
static int
open_content(struct importing *i, struct error **err)
{
  struct probe probe = {.format = PROBE_GZIP};
  if (!must_stream(i) && import_disk_probe(i->source, &probe, err) < 0)
    return -1;
  if (probe.format == PROBE_QCOW2 || probe.format == PROBE_RAW ||
      (probe_is_foreign(probe.format) && !must_prove(i))) {
    if (import_disk_open(i->source, &probe, i->options->foreign, i->options->workers, &i->disk,
                         err) < 0)
      return -1;
    return check_format(i, i->disk.format, err);
  }
  if (import_stack_open(i->source, sum_to_make(i), i->options->source.path_in_image, &i->stack,
                        err) < 0)
    return -1;
  /* A VHD of fixed size looks raw until its end. */
  bool may_be_vhd = i->stack.probe.format == PROBE_RAW && i->options->format &&
                    strcmp(i->options->format, "vhd") == 0;
  return may_be_vhd ? 0 : check_format(i, i->stack.probe.name, err);
}

/* Of the disk. CONTENT_SIZE_UNKNOWN where only the end tells, or qemu-nbd, once it has the file. */
static uint64_t
virtual_size(const struct importing *i)
{
  if (i->disk.layout)
    return target_disk_bytes(i->disk.layout->virtual_size);
  bool is_known = !probe_is_foreign(i->stack.probe.format) &&
                  i->stack.content->virtual_size != CONTENT_SIZE_UNKNOWN;
  return is_known ? target_disk_bytes(i->stack.content->virtual_size) : CONTENT_SIZE_UNKNOWN;
}

/* A VHD of fixed size is a raw disk with a footer behind it. Where the end is read last, only then
 * it is known which of them a file is. */
static uint64_t
least_virtual_size(const struct importing *i)
{
  uint64_t size = virtual_size(i);
  bool may_be_vhd = !i->disk.layout && i->stack.probe.format == PROBE_RAW &&
                    size != CONTENT_SIZE_UNKNOWN && size > PROBE_FOOTER_BYTES &&
                    i->stack.content->virtual_size == size;
  return may_be_vhd ? size - PROBE_FOOTER_BYTES : size;
}

/* ---- where it goes ------------------------------------------------------------------------------
 */

static char *
identity_with(const struct importing *i, const char *more)
{
  const struct import_options *o = i->options;
  CLEANUP(freep)
  char *text = xasprintf("%s\n%s\n%s\n%s\n%s\n%" PRIu64, i->source->label, i->source->identity,
                         o->source.path_in_image ? o->source.path_in_image : "",
                         sum_to_make(i) ? sum_to_make(i) : "", more, o->size);
  char digest[DIGEST_SHA256_HEX];
  digest_sha256_hex(text, strlen(text), digest);
  return xstrdup(digest);
}

/* Everything that makes it another import: then nothing of an earlier one can be used. What was
 * begun serves whatever is asked for at its end; what is finished is the same by either way. */
static void
make_identity(struct importing *i)
{
  if (!i->source->identity)
    return;
  const struct import_options *o = i->options;
  CLEANUP(freep)
  char *asked = xasprintf("%s\n%s\n%s", o->format ? o->format : "", o->snapshot ? o->snapshot : "",
                          o->layout.data_pool ? o->layout.data_pool : "");
  i->identity = identity_with(i, i->disk.layout ? "chunks" : "stream");
  i->outcome = identity_with(i, asked);
}

/* Into an image that was there the same may well be imported twice: only the caller can tell. */
static struct import_done_mark
mark_of(const struct importing *i)
{
  if (i->options->is_existing)
    return (struct import_done_mark){IMPORT_DONE_TOKEN, i->options->token};
  return (struct import_done_mark){IMPORT_DONE_UNTOLD, i->outcome};
}

static int
check_size(const struct importing *i, struct error **err)
{
  uint64_t size = virtual_size(i);
  if (i->options->size && size != CONTENT_SIZE_UNKNOWN &&
      least_virtual_size(i) > target_disk_bytes(i->options->size))
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "the image has a virtual size of %" PRIu64 " bytes, more than the %" PRIu64
                     " that --size allows",
                     size, i->options->size);
  return 0;
}

static int
open_target(struct importing *i, struct error **err)
{
  uint64_t size = virtual_size(i);
  bool is_growing = size == CONTENT_SIZE_UNKNOWN && !i->options->size;
  const struct target_options options = {
      .name = i->options->image,
      .layout = i->options->layout,
      .is_existing = i->options->is_existing,
      .source_label = i->source->label,
      .identity = i->identity,
      .virtual_size = is_growing                     ? TARGET_SIZE_UNKNOWN
                      : size == CONTENT_SIZE_UNKNOWN ? i->options->size
                                                     : least_virtual_size(i),
      .is_fitted = !i->options->size,
      .size_bytes = i->options->size ? target_disk_bytes(i->options->size) : size,
  };
  return target_open(i->options->location, &options, &i->target, &i->checkpoint, err);
}

/* Whether the name is taken by what this very import has made, and could not tell any more. */
static int
look_for_outcome(struct importing *i, bool *ret_is_done, struct import_result *ret_result,
                 struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  const struct import_done_mark mark = mark_of(i);
  *ret_is_done = false;
  if (!mark.text || import_done_look(i->options->location, i->options->image, &mark, ret_is_done,
                                     ret_result, &failure) == 0)
    return 0;
  if (failure->code == ERROR_NOT_FOUND) /* taken away meanwhile */
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}

/* *ret_is_done: there is nothing left to do, and *ret_result tells what was done. */
static int
open_target_or_outcome(struct importing *i, bool *ret_is_done, struct import_result *ret_result,
                       struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  *ret_is_done = false;
  if (open_target(i, &failure) == 0)
    return 0;
  if (failure->code == ERROR_ALREADY_EXISTS &&
      look_for_outcome(i, ret_is_done, ret_result, err) < 0)
    return -1;
  return *ret_is_done ? 0 : error_set(err, failure->code, "%s", failure->message);
}

/* ---- the two ways -------------------------------------------------------------------------------
 */

static int
run_chunks(struct importing *i, char *ret_digest, struct error **err)
{
  /* What qemu-nbd makes of a file are not the file's bytes. */
  const char *sum = i->disk.decoded ? NULL : sum_to_make(i);
  const struct import_chunks_options options = {
      .source = i->disk.source,
      .layout = i->disk.layout,
      .target = i->target,
      .identity = i->identity,
      .checksum = sum ? sum : i->disk.source->digest,
      .ret_digest = ret_digest,
      .workers = i->options->workers,
      .progress = i->options->progress,
  };
  return import_chunks(&options, i->checkpoint.identity ? &i->checkpoint : NULL, err);
}

static int
run_front(struct importing *i, char *ret_digest, uint64_t *ret_size, struct error **err)
{
  const struct import_front_options options = {
      .source = i->source,
      .checksum = sum_to_make(i),
      .ret_digest = ret_digest,
      .foreign = i->options->foreign,
      .target = i->target,
      .layout = i->options->layout,
      .identity = i->identity,
      .size = i->options->size,
      .workers = i->options->workers,
      .progress = i->options->progress,
  };
  return import_front(&options, &i->stack, i->checkpoint.identity ? &i->checkpoint : NULL, ret_size,
                      err);
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static int
commit(struct importing *i, struct import_result *result, struct error **err)
{
  const struct import_done_mark mark = mark_of(i);
  struct string_map metadata = {0};
  import_done_write(image_id(target_image(i->target)), &mark, result, &metadata);
  if (i->source->identity)
    string_map_set(&metadata, "imprint.import.identity", i->source->identity);
  if (i->checksum)
    string_map_set(&metadata, "imprint.import.checksum", i->checksum);
  int r = target_commit(i->target, i->options->snapshot, &metadata, err);
  string_map_clear(&metadata);
  return r;
}

static void
set_format(struct import_result *result, const char *format)
{
  (void)snprintf(result->format, sizeof(result->format), "%s", format);
}

static int
run(struct importing *i, struct import_result *result, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  *result = (struct import_result){
      .virtual_size = virtual_size(i),
      .resumed_at = i->checkpoint.identity ? i->checkpoint.position : 0,
  };
  const char *told = i->checksum ? i->checksum : told_digest(i->source);
  uint64_t end = 0;
  int r = i->disk.layout ? run_chunks(i, result->digest, &failure)
                         : run_front(i, result->digest, &end, &failure);
  set_format(result, i->disk.layout ? i->disk.format : i->stack.probe.name);
  if (told)
    (void)snprintf(result->digest, sizeof(result->digest), "%s", told);
  if (r == 0 && !i->disk.layout) {
    result->virtual_size = target_disk_bytes(end);
    r = check_format(i, result->format, &failure);
  }
  if (r == 0 && i->source->ops->check)
    r = i->source->ops->check(i->source, &failure);
  if (r == 0)
    return commit(i, result, err);
  if (import_is_images_fault(failure->code))
    (void)target_discard(TAKE(i->target), NULL);
  return error_set(err, failure->code, "%s", failure->message);
}

static void
cancel(void *context)
{
  struct source *source = context;
  if (source->ops->cancel)
    source->ops->cancel(source);
}

/* From the source that is open to the end. */
static int
import_opened(struct importing *i, struct import_result *ret_result, struct error **err)
{
  struct cancel_watch *watch = cancel_watch_start(i->options->progress, cancel, i->source);
  bool is_done = false;
  int r = open_content(i, err);
  if (r == 0)
    r = check_size(i, err);
  if (r == 0) {
    make_identity(i);
    r = open_target_or_outcome(i, &is_done, ret_result, err);
  }
  if (r == 0 && !is_done)
    r = run(i, ret_result, err);
  cancel_watch_stop(watch);
  return r;
}

/* ---- a source that is another now ---------------------------------------------------------------
 */

/* What was written must be known to be of the same file, or else go: an image that was there before
 * cannot. The helper for foreign formats has read what it reads once. */
static bool
may_reopen(const struct importing *i, const struct error *failure)
{
  return failure->code == ERROR_UNAVAILABLE && atomic_load(&i->source->has_lost_seek) &&
         i->seek_losses < SEEK_LOSSES_MAX && !i->disk.decoded &&
         (i->source->identity || !i->options->is_existing) &&
         !atomic_load(&i->options->progress->is_cancelled);
}

static bool
is_same_file(const struct source *one, const struct source *other)
{
  if (!one->identity || !other->identity)
    return !one->identity && one->size == other->size;
  return strcmp(one->identity, other->identity) == 0;
}

/* The source once more, if it still is the same file. */
static int
reopen(struct importing *i, const struct error *failure, struct error **err)
{
  CLEANUP(source_closep) struct source *again = NULL;
  if (i->options->source.http.on_retry)
    i->options->source.http.on_retry(i->seek_losses + 1, failure->message);
  if (source_open(i->options->url, &i->options->source, &again, err) < 0)
    return -1;
  if (!is_same_file(i->source, again)) {
    if (i->target)
      (void)target_discard(TAKE(i->target), NULL);
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "%s: the file changed while it was read: it was '%s' and is '%s'",
                     again->label, i->source->identity ? i->source->identity : "",
                     again->identity ? again->identity : "");
  }
  unsigned losses = i->seek_losses + 1;
  importing_clear(i);
  *i = (struct importing){
      .options = i->options, .checksum = i->checksum, .source = TAKE(again), .seek_losses = losses};
  return 0;
}

static int
import_anew(const struct import_options *options, struct import_result *ret_result,
            struct error **err)
{
  char checksum[CHECKSUM_TEXT_MAX];
  CLEANUP(importing_clear)
  struct importing i = {.options = options, .checksum = options->checksum ? checksum : NULL};
  if ((options->checksum && checksum_from_text(options->checksum, checksum, err) < 0) ||
      source_open(options->url, &options->source, &i.source, err) < 0)
    return -1;
  if (source_is_upload(i.source))
    return import_upload(options, i.source, ret_result, err);
  for (;;) {
    CLEANUP(error_freep) struct error *failure = NULL;
    if (import_opened(&i, ret_result, &failure) == 0)
      return 0;
    if (!may_reopen(&i, failure))
      return error_set(err, failure->code, "%s", failure->message);
    if (reopen(&i, failure, err) < 0)
      return -1;
  }
}

int
import_run(const struct import_options *options, struct import_result *ret_result,
           struct error **err)
{
  const struct import_done_mark mark = {IMPORT_DONE_TOKEN, options->token};
  bool is_done = false;
  if (options->token &&
      import_done_look(options->location, options->image, &mark, &is_done, ret_result, err) < 0)
    return -1;
  return is_done ? 0 : import_anew(options, ret_result, err);
}
