/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/format/memory_stream.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

struct memory_stream {
  struct stream stream;
  const char *data;
  size_t len, at, piece;
  size_t fail_at; /* SIZE_MAX: nowhere */
};

static ssize_t
memory_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct memory_stream *memory = (struct memory_stream *)stream;
  size_t left = memory->len - memory->at;
  if (memory->fail_at <= memory->at)
    return error_set(err, ERROR_UNAVAILABLE, "connection lost");
  if (left > memory->fail_at - memory->at)
    left = memory->fail_at - memory->at;
  if (len > left)
    len = left;
  if (memory->piece > 0 && len > memory->piece)
    len = memory->piece;
  if (len > 0)
    memcpy(buf, memory->data + memory->at, len);
  memory->at += len;
  return (ssize_t)len;
}

static int
memory_save(struct stream *stream, struct buffer *state, struct error **err)
{
  (void)err;
  buffer_append_u64(state, ((struct memory_stream *)stream)->at);
  return 0;
}

static void
memory_close(struct stream *stream)
{
  free(stream);
}

static const struct stream_ops memory_ops = {
    .name = "memory",
    .read = memory_read,
    .save = memory_save,
    .close = memory_close,
};

struct stream *
memory_stream_new(const void *data, size_t len, size_t offset, size_t piece)
{
  struct memory_stream *memory = xcalloc(1, sizeof(*memory));
  *memory = (struct memory_stream){.stream = {.ops = &memory_ops},
                                   .data = data,
                                   .len = len,
                                   .at = offset,
                                   .piece = piece,
                                   .fail_at = SIZE_MAX};
  return &memory->stream;
}

void
memory_stream_fail_at(struct stream *stream, size_t offset)
{
  ((struct memory_stream *)stream)->fail_at = offset;
}

size_t
memory_stream_position(const struct stream *stream)
{
  return ((const struct memory_stream *)stream)->at;
}

struct stream *
memory_stream_restart(struct stream *stream, stream_restore *restore, const struct buffer *data,
                      size_t piece)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(stream_closep) struct stream *restored = NULL;
  bool is_saved = stream_can_save(stream) && stream->ops->save(stream, &state, NULL) == 0;
  size_t position = memory_stream_position(stream->below);
  size_t len = state.len;
  size_t used = 0;
  stream_close(stream);
  if (!is_saved)
    return NULL;
  (void)buffer_append_text(&state, "more"); /* of a stream above it */
  struct stream *below = memory_stream_new(data->data, data->len, position, piece);
  if (restore(below, state.data, state.len, &used, &restored, NULL) < 0 || used != len)
    return NULL;
  return TAKE(restored);
}
