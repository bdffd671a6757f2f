/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_stream.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/ceph/image_writer.h"
#include "populator/transfer/content_writer.h"

#define CHECKPOINT_MS 2000

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

/* Takes the state between two pieces. */
static int
take_state(struct stream_import *import, struct error **err)
{
  if (!import->can_save || import->state.len > 0 || clock_now_ms() < import->next_state_ms)
    return 0;
  import->next_state_ms = clock_now_ms() + CHECKPOINT_MS;
  if (content_writer_flush(&import->writer, err) < 0)
    return -1;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (import_stack_save(import->options->stack, &import->state, &failure) < 0) {
    import->state.len = 0;
    /* Not here; perhaps a little further on. */
    return failure->code == ERROR_RESOURCE_EXHAUSTED
               ? 0
               : error_set(err, failure->code, "%s", failure->message);
  }
  import->state_position = import->options->position(import->options->context);
  begin_epoch(import, !import->epoch);
  return 0;
}

/* Saves the state that was taken, if all that was written before it is durable. */
static int
save_state(struct stream_import *import, struct error **err)
{
  if (import->state.len == 0 || atomic_load(&import->pending[!import->epoch]) > 0)
    return 0;
  const struct checkpoint checkpoint = {
      .kind = CHECKPOINT_STREAM,
      .identity = (char *)import->options->identity,
      .virtual_size = import->options->stack->content->virtual_size,
      .position = import->state_position,
      .state = import->state,
  };
  int r = target_save(import->options->target, &checkpoint, err);
  import->state.len = 0;
  return r;
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

int
import_stream(const struct import_stream_options *options, struct error **err)
{
  struct stream_import import = {.options = options,
                                 .next_state_ms = clock_now_ms() + CHECKPOINT_MS};
  import.can_save = options->identity && import_stack_can_save(options->stack);
  import.image = image_writer_new(target_image(options->target), IMPORT_BYTES_IN_FLIGHT);
  import.pool = buffer_pool_new(CONTENT_WRITER_BUFFERS, CONTENT_ROOM_BYTES);
  content_writer_init(&import.writer, import.image, import.pool, options->progress);
  begin_epoch(&import, 0);
  int r = run(&import, err);
  content_writer_clear(&import.writer);
  pool_buffer_unref(import.room);
  if (image_writer_drain(import.image, r < 0 ? NULL : err) < 0)
    r = -1;
  /* Now everything is durable: so that the next process repeats as little as may be. */
  if (r < 0 && import.state.len > 0 && image_writer_check(import.image, NULL) == 0)
    (void)save_state(&import, NULL);
  buffer_clear(&import.state);
  buffer_pool_free(import.pool);
  image_writer_free(import.image);
  return r;
}
