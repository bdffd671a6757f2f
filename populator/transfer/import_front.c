/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_front.h"

#include <inttypes.h>
#include <malloc.h>

#include "lib/base/memory.h"
#include "populator/source/upload.h"
#include "populator/transfer/checksum_stream.h"
#include "populator/transfer/import_chunks.h"
#include "populator/transfer/import_disk.h"
#include "populator/transfer/import_spool.h"
#include "populator/transfer/import_stream.h"
#include "populator/transfer/qcow2_content.h"
#include "populator/transfer/raw_content.h"

/* A file may be that much larger than the disk in it, and twice as large as it is: tables,
 * snapshots of its own. What goes on beyond that is a compressed bomb. */
#define FILE_OVERHEAD_BYTES ((uint64_t)256 << 20)

/* Reading what lies in the same cluster takes no more; each has buffers of its own, and librbd some
 * beside them. */
#define SPOOL_WORKERS 2

struct front {
  const struct import_front_options *options;
  struct import_stack *stack;
  const struct checkpoint *from; /* or NULL */
  struct import_spool *spool;    /* or NULL */
  /* Of the source, once all of it was read, by this process or by an earlier one. */
  bool has_checksum;
  struct checksum checksum;
};

static uint64_t
position(void *context)
{
  struct front *front = context;
  const struct stream *counted = front->stack->counted;
  atomic_store(&front->options->progress->fetched, checksum_stream_fetched(counted));
  return checksum_stream_position(counted);
}

/* Goes on with filling `target` from a state if that works; else the stack stays as it is. */
static bool
restore(struct front *front, const struct checkpoint *from, struct target *target)
{
  const struct import_front_options *options = front->options;
  struct import_stack restored;
  if (!from || from->state.len == 0)
    return false;
  if (options->tail)
    upload_put_tail(options->source, from->tail.data, from->tail.len);
  if (import_stack_restore(options->source, options->checksum, &from->state, &restored, NULL) < 0)
    return false;
  if (options->tail)
    import_tail_restored(options->tail, target, &from->state);
  restored.probe = front->stack->probe;
  import_stack_close(front->stack);
  *front->stack = restored;
  return true;
}

/* Of an upload there is no beginning to fall back to. */
static int
check_stack(const struct front *front, struct error **err)
{
  return front->stack->content
             ? 0
             : error_set(err, ERROR_FAILED_PRECONDITION,
                         "what was uploaded cannot be gone on with: upload it anew");
}

/* Reads the stack to its end, into the target or into the spool. */
static int
read_all(struct front *front, struct target *target, uint64_t limit, struct error **err)
{
  const struct import_front_options *options = front->options;
  const struct import_stream_options reading = {
      .stack = front->stack,
      .target = target,
      .identity = options->identity,
      .size_limit = limit,
      .position = position,
      .context = front,
      .progress = options->progress,
      .tail = options->tail,
  };
  uint64_t size = options->source->size;
  atomic_store(&options->progress->total, size == SOURCE_SIZE_UNKNOWN ? 0 : size);
  if (import_stream(&reading, err) < 0 || import_stack_finish(front->stack, err) < 0)
    return -1;
  if (options->checksum) {
    front->has_checksum = true;
    front->checksum = checksum_stream_checksum(front->stack->counted);
  }
  return 0;
}

/* The source was read to its end by an earlier process, which has left its checksum. */
static void
take_checksum(struct front *front, const struct checkpoint *end)
{
  front->has_checksum = end->has_checksum;
  front->checksum = end->checksum;
}

/* ---- the spool ---------------------------------------------------------------------------------
 */

static int
save(struct front *front, enum checkpoint_kind kind, uint64_t at, struct error **err)
{
  const struct checkpoint checkpoint = {.kind = kind,
                                        .identity = (char *)front->options->identity,
                                        .position = at,
                                        .has_checksum = front->has_checksum,
                                        .checksum = front->checksum};
  return front->options->identity ? target_save(front->options->target, &checkpoint, err) : 0;
}

static int
open_spool(struct front *front, bool is_anew, struct error **err)
{
  const struct import_spool_options spool = {.source_label = front->options->source->label,
                                             .identity = front->options->identity,
                                             .layout = front->options->layout,
                                             .is_anew = is_anew};
  return import_spool_open(front->options->target, &spool, &front->spool, err);
}

/* From here on a repeated import looks into the spool; so there must be something to go on from in
 * it. Where there cannot be, it begins anew. */
static int
mark_spool(struct front *front, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  if (!front->options->identity || !import_stack_can_save(front->stack) ||
      import_stack_save(front->stack, &state, NULL) < 0)
    return 0;
  if (front->options->tail) {
    import_tail_take(front->options->tail, import_spool_target(front->spool), &state, NULL);
    return import_tail_save(front->options->tail, err);
  }
  const struct checkpoint checkpoint = {.kind = CHECKPOINT_STREAM,
                                        .identity = (char *)front->options->identity,
                                        .position = position(front),
                                        .state = state};
  if (target_save(import_spool_target(front->spool), &checkpoint, err) < 0)
    return -1;
  return save(front, CHECKPOINT_SPOOL, checkpoint.position, err);
}

/* A qcow2 stream that cannot go on: the spool gets what it has, and what comes behind it. */
static int
begin_spool(struct front *front, struct error **err)
{
  struct qcow2_stream *stream = qcow2_content_is_full(front->stack->content);
  uint64_t offset;
  if (open_spool(front, true, err) < 0 ||
      import_spool_take_over(front->spool, stream, &offset, err) < 0)
    return -1;
  struct stream *below = qcow2_stream_take_below(stream);
  content_stream_close(front->stack->content);
  (void)malloc_trim(0); /* the window */
  front->stack->content = raw_content_new_file(below, offset);
  return mark_spool(front, err);
}

static uint64_t
spool_limit(const struct front *front, uint64_t disk_size)
{
  uint64_t size = front->options->size ? front->options->size : disk_size;
  return size > UINT64_MAX / 4 ? UINT64_MAX : 2 * size + FILE_OVERHEAD_BYTES;
}

/* All is read: what decompressors hold is needed for the second step. */
static void
drop_stack(struct front *front)
{
  struct probe probe = front->stack->probe;
  import_stack_close(front->stack);
  front->stack->probe = probe;
  (void)malloc_trim(0);
}

static int
fill_spool(struct front *front, uint64_t disk_size, struct error **err)
{
  const struct checkpoint *end = import_spool_end(front->spool);
  if (end) {
    take_checksum(front, end);
    if (front->options->tail)
      import_tail_end(front->options->tail);
    return 0;
  }
  if (read_all(front, import_spool_target(front->spool), spool_limit(front, disk_size), err) < 0)
    return -1;
  if (import_spool_complete(front->spool, raw_content_offset(front->stack->content),
                            front->has_checksum ? &front->checksum : NULL, err) < 0 ||
      save(front, CHECKPOINT_SPOOL, position(front), err) < 0)
    return -1;
  if (front->options->tail)
    import_tail_end(front->options->tail);
  drop_stack(front);
  return 0;
}

static int
check_room(const struct front *front, uint64_t size, struct error **err)
{
  if (front->options->size && size > front->options->size)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "the image has a virtual size of %" PRIu64 " bytes, more than the %" PRIu64
                     " that --size allows",
                     size, front->options->size);
  return target_make_room(front->options->target, size, err);
}

static int
import_from(struct front *front, struct source *file, uint64_t *ret_size, struct error **err)
{
  const struct import_front_options *options = front->options;
  struct import_disk disk = {0};
  if (import_disk_open(file, &front->stack->probe, options->foreign, options->workers, &disk, err) <
      0)
    return -1;
  uint64_t size = disk.layout->virtual_size;
  const struct import_chunks_options chunks = {
      .source = disk.source,
      .layout = disk.layout,
      .target = options->target,
      .identity = options->identity,
      .is_local = true,
      .workers = options->workers < SPOOL_WORKERS ? options->workers : SPOOL_WORKERS,
      .progress = options->progress,
  };
  bool was_here = front->from && front->from->kind == CHECKPOINT_CHUNKS;
  int r = check_room(front, size, err);
  if (r == 0)
    r = import_chunks(&chunks, was_here ? front->from : NULL, err);
  import_disk_close(&disk);
  *ret_size = size;
  return r;
}

/* Through the spool, to the end. */
static int
run_spool(struct front *front, uint64_t disk_size, uint64_t *ret_size, struct error **err)
{
  struct source *file = NULL;
  if (fill_spool(front, disk_size, err) < 0 ||
      import_spool_source(front->spool, front->options->source->label, &file, err) < 0)
    return -1;
  int r = import_from(front, file, ret_size, err);
  source_close(file);
  /* The spool goes before the target is ready, else one that is killed between would leave it. */
  if (r == 0)
    r = save(front, CHECKPOINT_DONE, *ret_size, err);
  return r == 0 ? import_spool_discard(TAKE(front->spool), err) : -1;
}

/* ---- the ways ----------------------------------------------------------------------------------
 */

/* What a disk has turned out to be at its end. */
static uint64_t
learn_size(struct front *front)
{
  const struct content_stream *content = front->stack->content;
  if (front->stack->probe.format != PROBE_RAW)
    return content->virtual_size;
  if (raw_content_is_vhd(content))
    front->stack->probe.name = "vhd";
  return raw_content_offset(content);
}

/* Straight into the target, unless the spool has to take over. */
static int
run_plain(struct front *front, bool *ret_is_full, uint64_t *ret_size, struct error **err)
{
  const struct checkpoint *from = front->from;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (from && from->kind == CHECKPOINT_STREAM)
    (void)restore(front, from, front->options->target);
  if (check_stack(front, err) < 0)
    return -1;
  uint64_t limit = front->options->size ? front->options->size : UINT64_MAX;
  *ret_is_full = false;
  if (read_all(front, front->options->target, limit, &failure) == 0) {
    *ret_size = learn_size(front);
    return 0;
  }
  *ret_is_full = qcow2_content_is_full(front->stack->content) != NULL;
  return *ret_is_full ? 0 : error_set(err, failure->code, "%s", failure->message);
}

static int
run_qcow2_or_raw(struct front *front, uint64_t *ret_size, struct error **err)
{
  uint64_t disk_size =
      front->stack->content ? front->stack->content->virtual_size : front->options->size;
  bool was_spooled = front->from && front->from->kind != CHECKPOINT_STREAM;
  if (was_spooled && open_spool(front, false, err) < 0)
    return -1;
  bool goes_on = was_spooled &&
                 (import_spool_end(front->spool) || restore(front, import_spool_state(front->spool),
                                                            import_spool_target(front->spool)));
  if (!goes_on) {
    bool is_full;
    import_spool_close(TAKE(front->spool));
    if (run_plain(front, &is_full, ret_size, err) < 0)
      return -1;
    if (!is_full)
      return 0;
    if (begin_spool(front, err) < 0)
      return -1;
  }
  return run_spool(front, disk_size, ret_size, err);
}

static int
run_foreign(struct front *front, uint64_t *ret_size, struct error **err)
{
  if (!front->options->foreign)
    return error_set(err, ERROR_UNIMPLEMENTED, "a %s image cannot be read without qemu-nbd",
                     front->stack->probe.name);
  if (open_spool(front, false, err) < 0)
    return -1;
  if (!import_spool_end(front->spool) &&
      !restore(front, import_spool_state(front->spool), import_spool_target(front->spool)) &&
      mark_spool(front, err) < 0)
    return -1;
  return run_spool(front, UINT64_MAX, ret_size, err);
}

/* No more of an upload comes now: what came is saved, where it is being filled. */
static int
pause_upload(struct import_tail *tail, struct error *failure, struct error **err)
{
  CLEANUP(error_freep) struct error *owned = failure;
  if (failure->code == ERROR_CANCELLED && import_tail_save(tail, err) < 0)
    return -1;
  *err = TAKE(owned);
  return -1;
}

int
import_front(const struct import_front_options *options, struct import_stack *stack,
             const struct checkpoint *from, uint64_t *ret_size, struct error **err)
{
  struct front front = {.options = options, .stack = stack, .from = from};
  int r;
  if (from && from->kind == CHECKPOINT_DONE) {
    *ret_size = from->position;
    take_checksum(&front, from);
    r = target_discard_spool(options->target, err);
  } else if (probe_is_foreign(stack->probe.format)) {
    r = run_foreign(&front, ret_size, err);
  } else {
    r = run_qcow2_or_raw(&front, ret_size, err);
  }
  if (r < 0 && options->tail)
    r = pause_upload(options->tail, TAKE(*err), err);
  import_spool_close(front.spool);
  if (r == 0 && front.has_checksum)
    checksum_text(&front.checksum, options->ret_digest);
  return r < 0 ? -1 : target_set_end(options->target, *ret_size, err);
}
