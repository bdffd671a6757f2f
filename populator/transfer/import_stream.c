/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_stream.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/ceph/image_writer.h"
#include "populator/format/decoder_memory.h"
#include "populator/format/state.h"
#include "populator/source/upload.h"
#include "populator/transfer/content_writer.h"

#define CHECKPOINT_MS 2000
/* A state may hold tens of MiB, a decompressor's window, and is written whole every time. What it
 * took is multiplied by this and waited for before the next one: about a tenth of the time goes
 * into states then, however slow the cluster, and small ones come every CHECKPOINT_MS. */
#define PAUSE_FACTOR 10
/* Of an upload: what was sent and not yet used is written along with it, and much more often. */
#define UPLOAD_STATE_MAX_BYTES ((size_t)16 << 20)
#define HEAVY_DECODER_BYTES ((size_t)32 << 20)

struct stream_import {
  const struct import_stream_options *options;
  struct image_writer *image;
  struct buffer_pool *pool;
  struct content_writer writer;
  struct pool_buffer *room; /* for the next piece, or NULL */
  /* Writes belong to the epoch in which they began; taking a state begins the other one. */
  atomic_uint pending[2];
  unsigned epoch;
  struct buffer state; /* taken, and not yet saved, when it is not empty */
  uint64_t state_position;
  int64_t state_cost_ms; /* of the last one */
  int64_t next_state_ms;
  bool can_save;
};

static void
on_written(void *context)
{
  atomic_fetch_sub((atomic_uint *)context, 1);
}

static void
begin_epoch(struct stream_import *import, unsigned epoch)
{
  import->epoch = epoch;
  import->writer.hold = &import->pending[epoch];
  import->writer.context = &import->pending[epoch];
  import->writer.release = on_written;
}

static bool
is_state_due(const struct stream_import *import)
{
  bool is_time = clock_now_ms() >= import->next_state_ms;
  if (import->options->tail)
    return is_time ? import_tail_is_free(import->options->tail)
                   : import_tail_is_due(import->options->tail);
  return is_time && import->state.len == 0;
}

static void
add_state_cost(struct stream_import *import, int64_t cost_ms)
{
  import->state_cost_ms += cost_ms;
  int64_t pause_ms = PAUSE_FACTOR * import->state_cost_ms;
  import->next_state_ms = clock_now_ms() + (pause_ms > CHECKPOINT_MS ? pause_ms : CHECKPOINT_MS);
}

/* Of this thread alone: while it decodes ahead it may wait for the source, which is no cost. */
static int64_t
work_ms(void)
{
  struct timespec ts;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Whether there is one now. */
static int
make_state(struct stream_import *import, bool *ret_is_made, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  int64_t start_ms = work_ms();
  int r = import_stack_save(import->options->stack, &import->state, &failure);
  import->state_cost_ms = 0;
  add_state_cost(import, work_ms() - start_ms);
  size_t max = import->options->tail ? UPLOAD_STATE_MAX_BYTES : STATE_MAX_BYTES;
  *ret_is_made = r == 0 && import->state.len <= max;
  if (!*ret_is_made)
    buffer_clear(&import->state);
  /* Not here; perhaps a little further on. */
  return r == 0 || failure->code == ERROR_RESOURCE_EXHAUSTED
             ? 0
             : error_set(err, failure->code, "%s", failure->message);
}

/* Takes the state between two pieces. */
static int
take_state(struct stream_import *import, struct error **err)
{
  bool is_made = false;
  if (!import->can_save || !is_state_due(import))
    return 0;
  if (content_writer_flush(&import->writer, err) < 0 || make_state(import, &is_made, err) < 0)
    return -1;
  if (!is_made)
    return 0;
  import->state_position = import->options->position(import->options->context);
  if (import->options->tail) {
    import_tail_take(import->options->tail, import->options->target, &import->state,
                     &import->pending[import->epoch]);
    import->state.len = 0;
  }
  begin_epoch(import, !import->epoch);
  return 0;
}

/* Saves the state that was taken, if all that was written before it is durable. */
static int
save_state(struct stream_import *import, struct error **err)
{
  if (import->options->tail) {
    bool is_free = import_tail_is_free(import->options->tail);
    if (image_writer_check(import->image, err) < 0)
      return -1;
    return is_free ? import_tail_look(import->options->tail, err) : 0;
  }
  if (import->state.len == 0 || atomic_load(&import->pending[!import->epoch]) > 0)
    return 0;
  if (image_writer_check(import->image, err) < 0)
    return -1;
  struct checkpoint checkpoint = {
      .kind = CHECKPOINT_STREAM,
      .identity = (char *)import->options->identity,
      .virtual_size = import->options->stack->content->virtual_size,
      .position = import->state_position,
      .state = import->state,
  };
  CLEANUP(error_freep) struct error *failure = NULL;
  int64_t start_ms = clock_now_ms();
  import->state = (struct buffer){0};
  int r = target_save_away(import->options->target, &checkpoint, &failure);
  add_state_cost(import, clock_now_ms() - start_ms);
  /* Larger than this cluster's OSDs take: the next one may be smaller, and the image is sound. */
  if (r < 0 && failure->code != ERROR_OUT_OF_RANGE)
    return error_set(err, failure->code, "%s", failure->message);
  return 0;
}

static int
write_piece(struct stream_import *import, const struct content_piece *piece, struct error **err)
{
  uint64_t end = piece->offset + piece->len;
  if (end > import->options->size_limit)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "the content is larger than the %llu bytes that there is room for",
                     (unsigned long long)import->options->size_limit);
  if (target_make_room(import->options->target, end, err) < 0)
    return -1;
  if (piece->is_zero)
    return 0;
  if (piece->data != import->room->data)
    return content_writer_copy(&import->writer, piece->data, piece->len, piece->offset, err);
  int r = content_writer_plain(&import->writer, import->room, piece->data, piece->len,
                               piece->offset, err);
  pool_buffer_unref(TAKE(import->room)); /* writes may hold it */
  return r;
}

static int
run(struct stream_import *import, struct error **err)
{
  struct content_stream *content = import->options->stack->content;
  struct progress *progress = import->options->progress;
  for (;;) {
    struct content_piece piece;
    if (atomic_load(&progress->is_cancelled))
      return error_set(err, ERROR_CANCELLED, "stopped; what was done is kept");
    if (!import->room)
      import->room = buffer_pool_take(import->pool);
    if (content->ops->next(content, import->room->data, &piece, err) < 0)
      return -1;
    atomic_store(&progress->position, import->options->position(import->options->context));
    if (piece.len == 0)
      return content_writer_flush(&import->writer, err);
    if (write_piece(import, &piece, err) < 0 || take_state(import, err) < 0 ||
        save_state(import, err) < 0)
      return -1;
  }
}

/* A decompressor with a long window leaves less room for what is written, and so does what is
 * remembered of an upload. They are the slowest of all then, so that does not matter. */
static size_t
bytes_in_flight(const struct import_stream_options *options)
{
  bool is_heavy =
      options->tail || decoder_memory_taken(options->stack->content->below) > HEAVY_DECODER_BYTES;
  return is_heavy ? IMPORT_BYTES_IN_FLIGHT / 4 : IMPORT_BYTES_IN_FLIGHT;
}

/* While more of an upload is waited for. */
static int
look(void *context, struct error **err)
{
  return save_state(context, err);
}

/* All that was written is durable, or the checkpoint before is the last one. */
static void
end_tail(struct import_tail *tail, bool is_durable)
{
  upload_set_look(tail->source, NULL, NULL);
  tail->pending = NULL;
  tail->is_over = tail->is_over || !is_durable;
}

int
import_stream(const struct import_stream_options *options, struct error **err)
{
  struct stream_import import = {.options = options,
                                 .next_state_ms = clock_now_ms() + CHECKPOINT_MS};
  import.can_save = options->identity && import_stack_can_save(options->stack);
  import.image = image_writer_new(target_image(options->target), bytes_in_flight(options));
  import.pool = buffer_pool_new(CONTENT_WRITER_BUFFERS, CONTENT_ROOM_BYTES, 0);
  content_writer_init(&import.writer, import.image, import.pool, options->progress);
  begin_epoch(&import, 0);
  if (options->tail)
    upload_set_look(options->tail->source, look, &import);
  int r = run(&import, err);
  content_writer_clear(&import.writer);
  pool_buffer_unref(import.room);
  if (image_writer_drain(import.image, r < 0 ? NULL : err) < 0)
    r = -1;
  /* Now everything is durable: so that the next process repeats as little as may be. */
  if (options->tail)
    end_tail(options->tail, image_writer_check(import.image, NULL) == 0);
  else if (r < 0 && import.state.len > 0 && image_writer_check(import.image, NULL) == 0)
    (void)save_state(&import, NULL);
  buffer_clear(&import.state);
  buffer_pool_free(import.pool);
  image_writer_free(import.image);
  return r;
}
