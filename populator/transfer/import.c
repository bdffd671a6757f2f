/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "populator/format/probe.h"
#include "populator/transfer/cancel_watch.h"
#include "populator/transfer/checksum_stream.h"
#include "populator/transfer/import_chunks.h"
#include "populator/transfer/import_stack.h"
#include "populator/transfer/import_stream.h"
#include "populator/transfer/qcow2_layout.h"
#include "populator/transfer/raw_layout.h"

/* An import on its way. */
struct importing {
  const struct import_options *options;
  struct source *source;
  struct layout *layout;     /* a source that is read anywhere … */
  struct import_stack stack; /* … or front to back */
  char *identity;            /* of the source and what is asked of it; NULL: cannot be resumed */
  struct target *target;
  struct checkpoint checkpoint;
};

static void
importing_clear(struct importing *i)
{
  target_close(i->target);
  layout_close(i->layout);
  if (i->stack.content)
    import_stack_close(&i->stack);
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

/* Looks at the first bytes of a source that can be read anywhere. */
static int
probe_source(struct source *source, struct probe *ret_probe, struct error **err)
{
  size_t len = source->size < PROBE_BYTES ? (size_t)source->size : PROBE_BYTES;
  CLEANUP(freep) char *bytes = xcalloc(len + 1, 1);
  if (len > 0 && source->ops->read_at(source, bytes, len, 0, err) < 0)
    return -1;
  probe_bytes(bytes, len, ret_probe);
  return 0;
}

static int
open_layout(struct importing *i, const struct probe *probe, struct error **err)
{
  if (probe->format == PROBE_QCOW2)
    return qcow2_layout_open(i->source, i->options->workers, &i->layout, err);
  i->layout = raw_layout_new(i->source);
  return 0;
}

/* A layer around the image and a checksum of the image itself: only a stream proves both. */
static bool
must_stream(const struct importing *i)
{
  return !i->source->can_seek || (i->options->checksum && i->source->ops->digest_begin);
}

/* Chooses the way. */
static int
open_content(struct importing *i, struct error **err)
{
  struct probe probe = {.format = PROBE_GZIP};
  if (!must_stream(i) && probe_source(i->source, &probe, err) < 0)
    return -1;
  if (probe.format == PROBE_QCOW2 || probe.format == PROBE_RAW) {
    if (check_format(i, probe.name, err) < 0)
      return -1;
    return open_layout(i, &probe, err);
  }
  if (import_stack_open(i->source, i->options->checksum, i->options->source.path_in_image,
                        &i->stack, err) < 0)
    return -1;
  return check_format(i, i->stack.content->ops->name, err);
}

static uint64_t
virtual_size(const struct importing *i)
{
  return i->layout ? i->layout->virtual_size : i->stack.content->virtual_size;
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
  char *text = xasprintf("%s\n%s\n%s\n%s\n%s\n%" PRIu64, i->source->label, i->source->identity,
                         o->source.path_in_image ? o->source.path_in_image : "",
                         o->checksum ? o->checksum : "", i->layout ? "chunks" : "stream", o->size);
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
      .source = i->source,
      .layout = i->layout,
      .target = i->target,
      .identity = i->identity,
      .checksum = i->options->checksum ? i->options->checksum : i->source->digest,
      .workers = i->options->workers,
      .progress = i->options->progress,
  };
  return import_chunks(&options, i->checkpoint.identity ? &i->checkpoint : NULL, err);
}

static uint64_t
stream_position(void *context)
{
  struct importing *i = context;
  atomic_store(&i->options->progress->fetched, checksum_stream_fetched(i->stack.counted));
  return checksum_stream_position(i->stack.counted);
}

/* Goes on from the checkpoint if that works; else the stack stays as it was opened, at the
 * beginning. */
static void
resume_stack(struct importing *i)
{
  struct import_stack restored;
  if (i->checkpoint.kind != CHECKPOINT_STREAM || i->checkpoint.state.len == 0 ||
      import_stack_restore(i->source, i->options->checksum, &i->checkpoint.state, &restored, NULL) <
          0)
    return;
  import_stack_close(&i->stack);
  i->stack = restored;
}

static int
run_stream(struct importing *i, uint64_t *ret_size, struct error **err)
{
  if (i->checkpoint.identity)
    resume_stack(i);
  atomic_store(&i->options->progress->total,
               i->source->size == SOURCE_SIZE_UNKNOWN ? 0 : i->source->size);
  const struct import_stream_options options = {
      .stack = &i->stack,
      .target = i->target,
      .identity = i->identity,
      .size_limit = i->options->size ? i->options->size : UINT64_MAX,
      .position = stream_position,
      .context = i,
      .progress = i->options->progress,
  };
  if (import_stream(&options, ret_size, err) < 0 ||
      checksum_stream_finish(i->stack.counted, err) < 0)
    return -1;
  return target_set_end(i->target, *ret_size, err);
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
      .format = i->layout ? i->layout->ops->name : i->stack.content->ops->name,
      .virtual_size = virtual_size(i),
      .resumed_at = i->checkpoint.identity ? i->checkpoint.position : 0,
  };
  uint64_t end = 0;
  int r = i->layout ? run_chunks(i, &failure) : run_stream(i, &end, &failure);
  if (r == 0) {
    if (result->virtual_size == CONTENT_SIZE_UNKNOWN)
      result->virtual_size = end;
    return commit(i, result, err);
  }
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
