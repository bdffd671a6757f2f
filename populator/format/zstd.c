/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd.h"

#define ZSTD_STATIC_LINKING_ONLY /* memory of our own */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "lib/base/memory.h"
#include "populator/format/decoded_ahead.h"
#include "populator/format/decoder_memory.h"
#include "populator/format/state.h"

#define FORM 0x31647a69 /* "izd1" */
#define IN_BYTES ((size_t)128 << 10)
/* Decoded ahead to the end of a frame, in steps, before it is given up: not here. */
#define SETTLE_MAX ((size_t)4 << 20)
#define SETTLE_STEP ((size_t)128 << 10)

struct zstd_stream {
  struct stream stream;
  struct decoder_memory *memory;
  ZSTD_DCtx *context;
  ZSTD_inBuffer in;
  bool is_below_at_end;
  uint64_t frames;  /* that were read to their ends */
  bool is_in_frame; /* the end of the file may not come now */
  struct decoded_ahead ahead;
  char bytes[IN_BYTES];
};

static struct zstd_stream *
zstd_of(struct stream *stream)
{
  return (struct zstd_stream *)stream;
}

static int
explain(const struct zstd_stream *zstd, size_t r, struct error **err)
{
  switch (ZSTD_getErrorCode(r)) {
  case ZSTD_error_frameParameter_windowTooLarge:
    return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                     "zstd: the file needs a window of more than %u MiB, which is the limit",
                     1U << (ZSTD_STREAM_WINDOW_LOG_MAX - 20));
  case ZSTD_error_memory_allocation:
    return decoder_memory_refuse(zstd->memory, "zstd", err);
  case ZSTD_error_prefix_unknown:
    return error_set(err, ERROR_DATA_LOSS, "zstd: what is there is no zstd frame");
  case ZSTD_error_dictionary_wrong:
    return error_set(err, ERROR_INVALID_ARGUMENT, "zstd: the file needs a dictionary");
  default:
    return error_set(err, ERROR_DATA_LOSS, "zstd: the file is damaged: %s", ZSTD_getErrorName(r));
  }
}

static int
fill(struct zstd_stream *zstd, struct error **err)
{
  if (zstd->in.pos < zstd->in.size || zstd->is_below_at_end)
    return 0;
  ssize_t got = stream_read(zstd->stream.below, zstd->bytes, sizeof(zstd->bytes), err);
  if (got < 0)
    return -1;
  zstd->in = (ZSTD_inBuffer){.src = zstd->bytes, .size = (size_t)got};
  zstd->is_below_at_end = got == 0;
  return 0;
}

/* Fills buf; less at the end of the file, or, if it is to, at the end of a frame. */
static ssize_t
decode(struct zstd_stream *zstd, void *buf, size_t len, bool stops_at_frame, struct error **err)
{
  ZSTD_outBuffer out = {.dst = buf, .size = len};
  while (out.pos < out.size && !(stops_at_frame && !zstd->is_in_frame)) {
    if (fill(zstd, err) < 0)
      return -1;
    bool is_end = zstd->is_below_at_end;
    if (is_end && !zstd->is_in_frame)
      break;
    size_t before = out.pos;
    size_t r = ZSTD_decompressStream(zstd->context, &out, &zstd->in);
    if (ZSTD_isError(r))
      return explain(zstd, r, err);
    zstd->is_in_frame = r != 0;
    zstd->frames += r == 0;
    if (is_end && zstd->is_in_frame && out.pos == before)
      return error_set(err, ERROR_DATA_LOSS, "zstd: the file ends too early");
  }
  return (ssize_t)out.pos;
}

static ssize_t
zstd_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct zstd_stream *zstd = zstd_of(stream);
  size_t got = decoded_ahead_read(&zstd->ahead, buf, len);
  return got > 0 ? (ssize_t)got : decode(zstd, buf, len, false, err);
}

/* ---- saving ------------------------------------------------------------------------------------
 */

/* Decodes ahead to the end of the frame: between two of them the decoder knows nothing. */
static int
settle(struct zstd_stream *zstd, struct error **err)
{
  CLEANUP(freep) char *step = zstd->is_in_frame ? xcalloc(1, SETTLE_STEP) : NULL;
  while (zstd->is_in_frame) {
    if (decoded_ahead_left(&zstd->ahead) > SETTLE_MAX)
      return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                       "zstd: cannot be saved here, in the middle of a long frame");
    ssize_t got = decode(zstd, step, SETTLE_STEP, true, err);
    if (got < 0)
      return -1;
    decoded_ahead_add(&zstd->ahead, step, (size_t)got);
  }
  return 0;
}

static int
zstd_save(struct stream *stream, struct buffer *state, struct error **err)
{
  struct zstd_stream *zstd = zstd_of(stream);
  if (settle(zstd, err) < 0)
    return -1;
  CLEANUP(buffer_clear) struct buffer body = {0};
  state_put_number(&body, zstd->is_below_at_end);
  state_put_bytes(&body, zstd->bytes + zstd->in.pos, zstd->in.size - zstd->in.pos);
  decoded_ahead_save(&zstd->ahead, &body);
  return state_seal(FORM, &body, state, err);
}

static void
zstd_close(struct stream *stream)
{
  struct zstd_stream *zstd = zstd_of(stream);
  stream_close(zstd->stream.below);
  (void)ZSTD_freeDCtx(zstd->context);
  decoded_ahead_clear(&zstd->ahead);
  decoder_memory_leave(zstd->memory);
  free(zstd);
}

static struct decoder_memory *
zstd_memory(struct stream *stream)
{
  return zstd_of(stream)->memory;
}

static void *
take(void *memory, size_t size)
{
  return decoder_memory_take(memory, size);
}

static void
give(void *memory, void *taken)
{
  decoder_memory_give(memory, taken);
}

static uint64_t
zstd_count(struct stream *stream)
{
  return zstd_of(stream)->frames;
}

static const struct stream_ops zstd_ops = {
    .name = "zstd",
    .read = zstd_read,
    .save = zstd_save,
    .close = zstd_close,
    .count = zstd_count,
    .memory = zstd_memory,
};

int
zstd_stream_new(struct stream *below, struct stream **ret_stream, struct error **err)
{
  struct zstd_stream *zstd = xcalloc(1, sizeof(*zstd));
  zstd->stream = (struct stream){.ops = &zstd_ops, .below = below};
  CLEANUP(stream_closep) struct stream *stream = &zstd->stream;
  zstd->memory = decoder_memory_join(below);
  zstd->context = ZSTD_createDCtx_advanced((ZSTD_customMem){take, give, zstd->memory});
  if (!zstd->context)
    return decoder_memory_refuse(zstd->memory, "zstd", err);
  size_t r = ZSTD_DCtx_setParameter(zstd->context, ZSTD_d_windowLogMax, ZSTD_STREAM_WINDOW_LOG_MAX);
  if (ZSTD_isError(r))
    return explain(zstd, r, err);
  zstd->is_in_frame = true; /* a file without any frame is none */
  *ret_stream = TAKE(stream);
  return 0;
}

static int
restore(struct zstd_stream *zstd, struct state_reader *reader, struct error **err)
{
  size_t in_len = 0, ahead_len = 0;
  zstd->is_below_at_end = state_get_number_up_to(reader, 1) != 0;
  const void *in = state_get_bytes(reader, sizeof(zstd->bytes), &in_len);
  const void *ahead = state_get_bytes(reader, SIZE_MAX, &ahead_len);
  if (reader->failed || reader->left > 0)
    return error_set(err, ERROR_DATA_LOSS, "zstd: saved state: damaged");
  memcpy(zstd->bytes, in, in_len);
  zstd->in = (ZSTD_inBuffer){.src = zstd->bytes, .size = in_len};
  decoded_ahead_add(&zstd->ahead, ahead, ahead_len);
  zstd->is_in_frame = false;
  return 0;
}

int
zstd_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                    struct stream **ret_stream, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CLEANUP(buffer_clear) struct buffer body = {0};
  size_t used;
  if (zstd_stream_new(below, &stream, err) < 0)
    return -1;
  if (state_unseal(FORM, state, len, 2 * SETTLE_MAX, &body, &used, err) < 0)
    return error_wrap(err, "zstd");
  struct state_reader reader = {.at = (const unsigned char *)body.data, .left = body.len};
  if (restore(zstd_of(stream), &reader, err) < 0)
    return -1;
  *ret_used = used;
  *ret_stream = TAKE(stream);
  return 0;
}
