/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/verified_stream.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/memory.h"

#define DRAIN_BYTES ((size_t)64 << 10)

struct verified_stream {
  struct stream stream;
  char *digest;
  uint64_t size;
  uint64_t passed;
  struct checksum checksum;
  bool is_right; /* all has passed and was compared */
};

static struct verified_stream *
verified_of(struct stream *stream)
{
  return CONTAINER_OF(stream, struct verified_stream, stream);
}

static int
check_digest(const struct verified_stream *verified, struct error **err)
{
  char actual[CHECKSUM_TEXT_MAX];
  checksum_text(&verified->checksum, actual);
  if (strcmp(actual, verified->digest) != 0)
    return error_set(err, ERROR_DATA_LOSS, "blob %s: its data has the digest %s", verified->digest,
                     actual);
  return 0;
}

/* All bytes have passed: nothing may follow, and they must be the right ones. */
static int
finish(struct verified_stream *verified, struct error **err)
{
  char more;
  ssize_t got = stream_read(verified->stream.below, &more, 1, err);
  if (got < 0)
    return -1;
  if (got > 0)
    return error_set(err, ERROR_DATA_LOSS,
                     "blob %s: longer than the %" PRIu64 " bytes it has to be", verified->digest,
                     verified->size);
  if (check_digest(verified, err) < 0)
    return -1;
  verified->is_right = true;
  return 0;
}

static ssize_t
verified_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct verified_stream *verified = verified_of(stream);
  if (verified->size - verified->passed < len)
    len = (size_t)(verified->size - verified->passed);
  ssize_t got = len > 0 ? stream_read(stream->below, buf, len, err) : 0;
  if (got < 0)
    return -1;
  if (got == 0 && len > 0)
    return error_set(err, ERROR_DATA_LOSS, "blob %s: ends after %" PRIu64 " of %" PRIu64 " bytes",
                     verified->digest, verified->passed, verified->size);
  checksum_update(&verified->checksum, buf, (size_t)got);
  verified->passed += (uint64_t)got;
  if (verified->passed == verified->size && !verified->is_right && finish(verified, err) < 0)
    return -1;
  return got;
}

static int
verified_save(struct stream *stream, struct buffer *state, struct error **err)
{
  (void)err;
  struct verified_stream *verified = verified_of(stream);
  buffer_append_u64(state, verified->passed);
  checksum_save(&verified->checksum, state);
  return 0;
}

static void
verified_close(struct stream *stream)
{
  struct verified_stream *verified = verified_of(stream);
  stream_close(stream->below);
  free(verified->digest);
  free(verified);
}

static const struct stream_ops verified_ops = {
    .name = "verified",
    .read = verified_read,
    .save = verified_save,
    .close = verified_close,
};

int
verified_stream_resume(struct stream *below, const struct oci_descriptor *blob, uint64_t passed,
                       const struct checksum *checksum, struct stream **ret_stream,
                       struct error **err)
{
  CLEANUP(stream_closep) struct stream *owned = below;
  enum checksum_kind kind;
  if (checksum_parse(blob->digest, &kind, err) < 0)
    return -1;
  if (passed > blob->size || checksum->kind != kind)
    return error_set(err, ERROR_DATA_LOSS, "the saved state of a stream is not one");
  struct verified_stream *verified = xcalloc(1, sizeof(*verified));
  verified->stream = (struct stream){.ops = &verified_ops, .below = TAKE(owned)};
  verified->digest = xstrdup(blob->digest);
  verified->size = blob->size;
  verified->passed = passed;
  verified->checksum = *checksum;
  *ret_stream = &verified->stream;
  return 0;
}

int
verified_stream_new(struct stream *below, const struct oci_descriptor *blob,
                    struct stream **ret_stream, struct error **err)
{
  enum checksum_kind kind;
  if (checksum_parse(blob->digest, &kind, err) < 0) {
    stream_close(below);
    return -1;
  }
  struct checksum checksum;
  checksum_init(&checksum, kind);
  return verified_stream_resume(below, blob, 0, &checksum, ret_stream, err);
}

int
verified_stream_restore(struct stream *below, const struct oci_descriptor *blob,
                        struct wire_reader *state, struct stream **ret_stream, struct error **err)
{
  struct checksum checksum = {0};
  uint64_t passed = wire_get_u64(state);
  checksum_restore(state, &checksum);
  if (state->failed) {
    stream_close(below);
    return error_set(err, ERROR_DATA_LOSS, "the saved state of a stream is not one");
  }
  return verified_stream_resume(below, blob, passed, &checksum, ret_stream, err);
}

int
verified_stream_drain(struct stream *stream, struct error **err)
{
  CLEANUP(freep) char *waste = xcalloc(DRAIN_BYTES, 1);
  ssize_t got;
  while ((got = stream_read(stream, waste, DRAIN_BYTES, err)) > 0)
    ;
  return got < 0 ? -1 : 0;
}

struct checksum
verified_stream_checksum(const struct stream *stream)
{
  return CONTAINER_OF(stream, struct verified_stream, stream)->checksum;
}
