/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "populator/transfer/cancel_watch.h"
#include "populator/transfer/import_chunks.h"
#include "populator/transfer/import_disk.h"
#include "populator/transfer/import_front.h"

/* An import on its way. */
struct importing {
  const struct import_options *options;
  struct source *source;
  struct import_disk disk;   /* a source that is read anywhere … */
  struct import_stack stack; /* … or front to back */
  char *identity;            /* of the source and what is asked of it; NULL: cannot be resumed */
  struct target *target;
  struct checkpoint checkpoint;
};

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
}

/* ---- what it is --------------------------------------------------------------------------------
 */

static int
check_format(const struct importing *i, const char *name, struct error **err)
{
  const char *wanted = i->options->format;
  if (!wanted || strcmp(wanted, "auto") == 0 || strcmp(wanted, name) == 0)
    return 0;
  return error_set(err, ERROR_INVALID_ARGUMENT, "the image is %s, not %s as --format says", name,
                   wanted);
}

/* A layer around the image and a checksum of the image itself: only a stream proves both. */
static bool
must_stream(const struct importing *i)
{
  return !i->source->can_seek || (i->options->checksum && i->source->ops->digest_begin);
}

/* qemu-nbd reads what it wants of a file, not all of it: what is to be proven must be read before.
 */
static bool
must_prove(const struct importing *i)
{
  return i->options->checksum || i->source->digest || i->source->ops->digest_begin;
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
  if (import_stack_open(i->source, i->options->checksum, i->options->source.path_in_image,
                        &i->stack, err) < 0)
    return -1;
  /* A VHD of fixed size looks raw until its end. */
  bool may_be_vhd = i->stack.probe.format == PROBE_RAW && i->options->format &&
                    strcmp(i->options->format, "vhd") == 0;
  return may_be_vhd ? 0 : check_format(i, i->stack.probe.name, err);
}

/* CONTENT_SIZE_UNKNOWN where only the end tells, or qemu-nbd, once it has the file. */
static uint64_t
virtual_size(const struct importing *i)
{
  if (i->disk.layout)
    return i->disk.layout->virtual_size;
  return probe_is_foreign(i->stack.probe.format) ? CONTENT_SIZE_UNKNOWN
                                                 : i->stack.content->virtual_size;
}

/* ---- where it goes ------------------------------------------------------------------------------
 */

/* Everything that makes it another import: then nothing of an earlier one can be used. */
static void
make_identity(struct importing *i)
{
  if (!i->source->identity)
    return;
  const struct import_options *o = i->options;
  CLEANUP(freep)
  char *text =
      xasprintf("%s\n%s\n%s\n%s\n%s\n%" PRIu64, i->source->label, i->source->identity,
                o->source.path_in_image ? o->source.path_in_image : "",
                o->checksum ? o->checksum : "", i->disk.layout ? "chunks" : "stream", o->size);
  char digest[DIGEST_SHA256_HEX];
  digest_sha256_hex(text, strlen(text), digest);
  i->identity = xstrdup(digest);
}

static int
check_size(const struct importing *i, struct error **err)
{
  uint64_t size = virtual_size(i);
  if (i->options->size && size != CONTENT_SIZE_UNKNOWN && size > i->options->size)
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
                                                     : size,
      .size_bytes = i->options->size ? i->options->size : size,
  };
  return target_open(i->options->location, &options, &i->target, &i->checkpoint, err);
}

/* ---- the two ways -------------------------------------------------------------------------------
 */

static int
run_chunks(struct importing *i, struct error **err)
{
  const struct import_chunks_options options = {
      .source = i->disk.source,
      .layout = i->disk.layout,
      .target = i->target,
      .identity = i->identity,
      .checksum = i->options->checksum ? i->options->checksum : i->disk.source->digest,
      .workers = i->options->workers,
      .progress = i->options->progress,
  };
  return import_chunks(&options, i->checkpoint.identity ? &i->checkpoint : NULL, err);
}

static int
run_front(struct importing *i, uint64_t *ret_size, struct error **err)
{
  const struct import_front_options options = {
      .source = i->source,
      .checksum = i->options->checksum,
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
commit(struct importing *i, const struct import_result *result, struct error **err)
{
  struct string_map metadata = {0};
  CLEANUP(freep) char *size = xasprintf("%" PRIu64, result->virtual_size);
  string_map_set(&metadata, "imprint.import.format", result->format);
  string_map_set(&metadata, "imprint.import.virtual-size", size);
  if (i->source->identity)
    string_map_set(&metadata, "imprint.import.identity", i->source->identity);
  if (i->options->checksum)
    string_map_set(&metadata, "imprint.import.checksum", i->options->checksum);
  int r = target_commit(i->target, i->options->snapshot, &metadata, err);
  string_map_clear(&metadata);
  return r;
}

/* Whether calling again could help; else nothing of the import is to stay. */
static bool
is_images_fault(enum error_code code)
{
  return code == ERROR_INVALID_ARGUMENT || code == ERROR_DATA_LOSS || code == ERROR_OUT_OF_RANGE ||
         code == ERROR_FAILED_PRECONDITION || code == ERROR_UNIMPLEMENTED;
}

static int
run(struct importing *i, struct import_result *result, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  *result = (struct import_result){
      .format = i->disk.layout ? i->disk.format : i->stack.probe.name,
      .virtual_size = virtual_size(i),
      .resumed_at = i->checkpoint.identity ? i->checkpoint.position : 0,
  };
  uint64_t end = 0;
  int r = i->disk.layout ? run_chunks(i, &failure) : run_front(i, &end, &failure);
  if (r == 0 && !i->disk.layout) {
    result->virtual_size = end;
    result->format = i->stack.probe.name;
    r = check_format(i, result->format, &failure);
  }
  if (r == 0)
    return commit(i, result, err);
  if (is_images_fault(failure->code))
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

int
import_run(const struct import_options *options, struct import_result *ret_result,
           struct error **err)
{
  struct importing i = {.options = options};
  enum checksum_kind kind;
  int r = options->checksum ? checksum_parse(options->checksum, &kind, err) : 0;
  if (r == 0)
    r = source_open(options->url, &options->source, &i.source, err);
  /* From here on a signal reaches the source too. */
  struct cancel_watch *watch =
      r == 0 ? cancel_watch_start(options->progress, cancel, i.source) : NULL;
  if (r == 0)
    r = open_content(&i, err);
  if (r == 0)
    r = check_size(&i, err);
  if (r == 0) {
    make_identity(&i);
    r = open_target(&i, err);
  }
  if (r == 0)
    r = run(&i, ret_result, err);
  cancel_watch_stop(watch);
  importing_clear(&i);
  return r;
}
