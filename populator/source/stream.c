/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/stream.h"

#include "lib/base/memory.h"

/* What is passed over where it has to be read comes in pieces of this size. */
#define SKIP_BYTES ((size_t)64 << 10)

ssize_t
stream_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  return stream->ops->read(stream, buf, len, err);
}

ssize_t
stream_read_most(struct stream *stream, void *buf, size_t len, struct error **err)
{
  size_t got = 0;
  while (got < len) {
    ssize_t n = stream_read(stream, (char *)buf + got, len - got, err);
    if (n < 0)
      return -1;
    if (n == 0)
      break;
    got += (size_t)n;
  }
  return (ssize_t)got;
}

int
stream_read_full(struct stream *stream, void *buf, size_t len, struct error **err)
{
  ssize_t got = stream_read_most(stream, buf, len, err);
  if (got < 0)
    return -1;
  if ((size_t)got < len)
    return error_set(err, ERROR_DATA_LOSS, "%s: ends %zu bytes too early", stream->ops->name,
                     len - (size_t)got);
  return 0;
}

int
stream_skip(struct stream *stream, uint64_t len, struct error **err)
{
  if (stream->ops->skip)
    return stream->ops->skip(stream, len, err);
  size_t room = len < SKIP_BYTES ? (size_t)len : SKIP_BYTES;
  CLEANUP(freep) char *waste = xcalloc(room + 1, 1);
  for (uint64_t left = len; left > 0;) {
    size_t piece = left < room ? (size_t)left : room;
    if (stream_read_full(stream, waste, piece, err) < 0)
      return -1;
    left -= piece;
  }
  return 0;
}

void
stream_close(struct stream *stream)
{
  if (stream)
    stream->ops->close(stream);
}

bool
stream_can_save(const struct stream *stream)
{
  for (; stream; stream = stream->below) {
    if (!stream->ops->save)
      return false;
  }
  return true;
}

int
stream_save(struct stream *stream, struct buffer *state, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer own = {0};
  if (stream->ops->save(stream, &own, err) < 0)
    return -1;
  if (stream->below && stream_save(stream->below, state, err) < 0)
    return -1;
  (void)buffer_append(state, stream->ops->name, __builtin_strlen(stream->ops->name) + 1);
  (void)buffer_append(state, own.data, own.len);
  return 0;
}
