/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/checksum_stream.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/state.h"

#define STATE_FORM 0x73756d31 /* "sum1" */
#define STATE_MAX 1024

struct checksum_stream {
  struct stream stream;
  const char *wanted;
  struct checksum checksum;
  atomic_uint_fast64_t position;
  atomic_uint_fast64_t fetched;
};

static ssize_t
checksum_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct checksum_stream *self = (struct checksum_stream *)stream;
  ssize_t n = stream_read(stream->below, buf, len, err);
  if (n <= 0)
    return n;
  if (self->wanted)
    checksum_update(&self->checksum, buf, (size_t)n);
  atomic_fetch_add(&self->position, (uint64_t)n);
  atomic_fetch_add(&self->fetched, (uint64_t)n);
  return n;
}

static int
checksum_save_state(struct stream *stream, struct buffer *state, struct error **err)
{
  struct checksum_stream *self = (struct checksum_stream *)stream;
  CLEANUP(buffer_clear) struct buffer body = {0};
  state_put_number(&body, atomic_load(&self->position));
  checksum_save(&self->checksum, &body);
  return state_seal(STATE_FORM, &body, state, err);
}

static void
checksum_close(struct stream *stream)
{
  stream_close(stream->below);
  free(stream);
}

static const struct stream_ops ops = {
    .name = CHECKSUM_STREAM_NAME,
    .read = checksum_read,
    .save = checksum_save_state,
    .close = checksum_close,
};

struct stream *
checksum_stream_new(struct stream *below, const char *wanted)
{
  struct checksum_stream *self = xcalloc(1, sizeof(*self));
  self->stream = (struct stream){.ops = &ops, .below = below};
  self->wanted = wanted;
  checksum_init(&self->checksum, wanted ? checksum_kind_of(wanted) : CHECKSUM_SHA256);
  return &self->stream;
}

int
checksum_stream_restore(struct stream *below, const char *wanted, const void *state, size_t len,
                        size_t *ret_used, struct stream **ret_stream, struct error **err)
{
  CLEANUP(stream_closep) struct stream *owned = checksum_stream_new(below, wanted);
  CLEANUP(buffer_clear) struct buffer body = {0};
  if (state_unseal(STATE_FORM, state, len, STATE_MAX, &body, ret_used, err) < 0)
    return -1;
  struct checksum_stream *self = (struct checksum_stream *)owned;
  enum checksum_kind kind = self->checksum.kind;
  struct state_reader reader = {.at = (const unsigned char *)body.data, .left = body.len};
  atomic_store(&self->position, state_get_number(&reader));
  struct wire_reader rest = {
      .at = (const char *)reader.at, .left = reader.left, .failed = reader.failed};
  checksum_restore(&rest, &self->checksum);
  if (rest.failed || rest.left > 0 || self->checksum.kind != kind)
    return error_set(err, ERROR_DATA_LOSS, "the saved state of a checksum is broken");
  *ret_stream = TAKE(owned);
  return 0;
}

uint64_t
checksum_stream_position(const struct stream *stream)
{
  return atomic_load(&((struct checksum_stream *)stream)->position);
}

uint64_t
checksum_stream_fetched(const struct stream *stream)
{
  return atomic_load(&((struct checksum_stream *)stream)->fetched);
}

int
checksum_stream_finish(struct stream *stream, struct error **err)
{
  struct checksum_stream *self = (struct checksum_stream *)stream;
  char rest[65536];
  ssize_t n;
  while ((n = checksum_read(stream, rest, sizeof(rest), err)) > 0)
    ;
  if (n < 0)
    return -1;
  return self->wanted ? checksum_check(&self->checksum, self->wanted, err) : 0;
}

struct checksum
checksum_stream_checksum(const struct stream *stream)
{
  const struct checksum_stream *self = (const struct checksum_stream *)stream;
  assert(self->wanted);
  return self->checksum;
}
