/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/look_stream.h"

#include <string.h>

#include "lib/base/memory.h"

struct look_stream {
  struct stream stream; /* nothing is below it for others */
  struct stream_ops ops;
  struct stream *below;
  struct look look;
  size_t given; /* of these */
};

static struct look_stream *
look_of(struct stream *stream)
{
  return CONTAINER_OF(stream, struct look_stream, stream);
}

static ssize_t
look_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct look_stream *self = look_of(stream);
  size_t left = self->look.len - self->given;
  if (left == 0)
    return stream_read(self->below, buf, len, err);
  size_t part = left < len ? left : len;
  memcpy(buf, self->look.bytes + self->given, part);
  self->given += part;
  return (ssize_t)part;
}

static int
look_save(struct stream *stream, struct buffer *state, struct error **err)
{
  struct look_stream *self = look_of(stream);
  if (self->given == self->look.len)
    return self->below->ops->save(self->below, state, err);
  buffer_append_u64(state, self->given);
  return 0;
}

static void
look_close(struct stream *stream)
{
  struct look_stream *self = look_of(stream);
  stream_close(self->below);
  free(self);
}

int
look_stream_new(struct stream *below, const char *name, struct look *ret_look,
                struct stream **ret_stream, struct error **err)
{
  CLEANUP(stream_closep) struct stream *owned = below;
  struct look look;
  ssize_t got = stream_read_most(below, look.bytes, sizeof(look.bytes), err);
  if (got < 0)
    return -1;
  look.len = (size_t)got;
  struct look_stream *self = xcalloc(1, sizeof(*self));
  self->ops = (struct stream_ops){.name = name,
                                  .read = look_read,
                                  .save = below->ops->save ? look_save : NULL,
                                  .close = look_close};
  self->stream.ops = &self->ops;
  self->below = TAKE(owned);
  self->look = look;
  *ret_look = look;
  *ret_stream = &self->stream;
  return 0;
}
