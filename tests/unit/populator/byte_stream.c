/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/populator/byte_stream.h"

#include <string.h>

#include "lib/base/memory.h"

struct byte_stream {
  struct stream stream;
  const char *data;
  size_t len;
  size_t position;
  size_t piece;
};

static unsigned open_count;

static struct byte_stream *
bytes_of(struct stream *stream)
{
  return CONTAINER_OF(stream, struct byte_stream, stream);
}

static ssize_t
bytes_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  (void)err;
  struct byte_stream *bytes = bytes_of(stream);
  size_t left = bytes->len - bytes->position;
  len = len < left ? len : left;
  len = bytes->piece > 0 && len > bytes->piece ? bytes->piece : len;
  if (len > 0)
    memcpy(buf, bytes->data + bytes->position, len);
  bytes->position += len;
  return (ssize_t)len;
}

static int
bytes_save(struct stream *stream, struct buffer *state, struct error **err)
{
  (void)err;
  buffer_append_u64(state, bytes_of(stream)->position);
  return 0;
}

static void
bytes_close(struct stream *stream)
{
  free(bytes_of(stream));
  open_count--;
}

static const struct stream_ops byte_ops = {
    .name = "blob",
    .read = bytes_read,
    .save = bytes_save,
    .close = bytes_close,
};

struct stream *
byte_stream_new(const void *data, size_t len, size_t offset, size_t piece)
{
  struct byte_stream *bytes = xcalloc(1, sizeof(*bytes));
  bytes->stream.ops = &byte_ops;
  bytes->data = data;
  bytes->len = len;
  bytes->position = offset;
  bytes->piece = piece;
  open_count++;
  return &bytes->stream;
}

unsigned
byte_streams_open(void)
{
  return open_count;
}

int
byte_stream_drain(struct stream *stream, struct buffer *ret_content, struct error **err)
{
  struct buffer content = {0};
  char piece[1000];
  ssize_t got;
  while ((got = stream_read(stream, piece, sizeof(piece), err)) > 0)
    (void)buffer_append(&content, piece, (size_t)got);
  if (got < 0) {
    buffer_clear(&content);
    return -1;
  }
  *ret_content = content;
  return 0;
}
