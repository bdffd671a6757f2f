/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/seek_stream.h"

#include "lib/base/memory.h"

struct seek_stream {
  struct stream stream;
  struct source *source;
  uint64_t position;
};

static ssize_t
seek_stream_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct seek_stream *reading = (struct seek_stream *)stream;
  struct source *source = reading->source;
  uint64_t left = source->size - reading->position;
  size_t take = len < left ? len : (size_t)left;
  if (take > 0 && source->ops->read_at(source, buf, take, reading->position, err) < 0)
    return -1;
  reading->position += take;
  return (ssize_t)take;
}

static int
seek_stream_save(struct stream *stream, struct buffer *state, struct error **err)
{
  (void)err;
  buffer_append_u64(state, ((struct seek_stream *)stream)->position);
  return 0;
}

static void
seek_stream_close(struct stream *stream)
{
  free(stream);
}

static const struct stream_ops seek_stream_ops = {
    .name = "seek",
    .read = seek_stream_read,
    .save = seek_stream_save,
    .close = seek_stream_close,
};

int
seek_stream_open(struct source *source, uint64_t offset, struct stream **ret_stream,
                 struct error **err)
{
  (void)err;
  struct seek_stream *reading = xcalloc(1, sizeof(*reading));
  reading->stream.ops = &seek_stream_ops;
  reading->source = source;
  reading->position = offset;
  *ret_stream = &reading->stream;
  return 0;
}
