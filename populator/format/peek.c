/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/peek.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/state.h"

#define FORM 0x31657069 /* "ipe1" */

struct peek_stream {
  struct stream stream;
  size_t at, end; /* of what was looked at and not yet read again */
  char head[PROBE_BYTES];
};

static struct peek_stream *
peek_of(struct stream *stream)
{
  return (struct peek_stream *)stream;
}

static ssize_t
peek_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct peek_stream *peek = peek_of(stream);
  if (peek->at == peek->end)
    return stream_read(peek->stream.below, buf, len, err);
  size_t left = peek->end - peek->at;
  size_t got = left < len ? left : len;
  memcpy(buf, peek->head + peek->at, got);
  peek->at += got;
  return (ssize_t)got;
}

static int
peek_save(struct stream *stream, struct buffer *state, struct error **err)
{
  struct peek_stream *peek = peek_of(stream);
  CLEANUP(buffer_clear) struct buffer body = {0};
  state_put_bytes(&body, peek->head + peek->at, peek->end - peek->at);
  return state_seal(FORM, &body, state, err);
}

static void
peek_close(struct stream *stream)
{
  stream_close(stream->below);
  free(peek_of(stream));
}

static const struct stream_ops peek_ops = {
    .name = "peek",
    .read = peek_read,
    .save = peek_save,
    .close = peek_close,
};

static struct peek_stream *
make(struct stream *below)
{
  struct peek_stream *peek = xcalloc(1, sizeof(*peek));
  peek->stream = (struct stream){.ops = &peek_ops, .below = below};
  return peek;
}

int
peek_stream_new(struct stream *below, struct stream **ret_stream, struct probe *ret_probe,
                struct error **err)
{
  struct peek_stream *peek = make(below);
  CLEANUP(stream_closep) struct stream *stream = &peek->stream;
  ssize_t got = stream_read_most(below, peek->head, sizeof(peek->head), err);
  if (got < 0)
    return -1;
  peek->end = (size_t)got;
  probe_bytes(peek->head, peek->end, ret_probe);
  *ret_stream = TAKE(stream);
  return 0;
}

int
peek_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                    struct stream **ret_stream, struct error **err)
{
  struct peek_stream *peek = make(below);
  CLEANUP(stream_closep) struct stream *stream = &peek->stream;
  CLEANUP(buffer_clear) struct buffer body = {0};
  size_t used;
  if (state_unseal(FORM, state, len, PROBE_BYTES + 16, &body, &used, err) < 0)
    return error_wrap(err, "peek");
  struct state_reader reader = {.at = (const unsigned char *)body.data, .left = body.len};
  const void *head = state_get_bytes(&reader, PROBE_BYTES, &peek->end);
  if (reader.failed || reader.left > 0)
    return error_set(err, ERROR_DATA_LOSS, "peek: saved state: damaged");
  memcpy(peek->head, head, peek->end);
  *ret_used = used;
  *ret_stream = TAKE(stream);
  return 0;
}
