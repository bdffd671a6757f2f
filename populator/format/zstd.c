/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "lib/base/memory.h"

#define IN_BYTES ((size_t)128 << 10)

struct zstd_stream {
  struct stream stream;
  ZSTD_DCtx *context;
  ZSTD_inBuffer in;
  bool is_below_at_end;
  bool is_in_frame; /* the end of the file may not come now */
  char bytes[IN_BYTES];
};

static struct zstd_stream *
zstd_of(struct stream *stream)
{
  return (struct zstd_stream *)stream;
}

static int
explain(size_t r, struct error **err)
{
  switch (ZSTD_getErrorCode(r)) {
  case ZSTD_error_frameParameter_windowTooLarge:
    return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                     "zstd: the file needs a window of more than %u MiB, which is the limit",
                     1U << (ZSTD_STREAM_WINDOW_LOG_MAX - 20));
  case ZSTD_error_memory_allocation:
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "zstd: no memory");
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

static ssize_t
zstd_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct zstd_stream *zstd = zstd_of(stream);
  ZSTD_outBuffer out = {.dst = buf, .size = len};
  while (out.pos < out.size) {
    if (fill(zstd, err) < 0)
      return -1;
    bool is_end = zstd->is_below_at_end;
    if (is_end && !zstd->is_in_frame)
      break;
    size_t before = out.pos;
    size_t r = ZSTD_decompressStream(zstd->context, &out, &zstd->in);
    if (ZSTD_isError(r))
      return explain(r, err);
    zstd->is_in_frame = r != 0;
    if (is_end && zstd->is_in_frame && out.pos == before)
      return error_set(err, ERROR_DATA_LOSS, "zstd: the file ends too early");
  }
  return (ssize_t)out.pos;
}

static void
zstd_close(struct stream *stream)
{
  struct zstd_stream *zstd = zstd_of(stream);
  stream_close(zstd->stream.below);
  (void)ZSTD_freeDCtx(zstd->context);
  free(zstd);
}

static const struct stream_ops zstd_ops = {
    .name = "zstd",
    .read = zstd_read,
    .close = zstd_close,
};

int
zstd_stream_new(struct stream *below, struct stream **ret_stream, struct error **err)
{
  struct zstd_stream *zstd = xcalloc(1, sizeof(*zstd));
  zstd->stream = (struct stream){.ops = &zstd_ops, .below = below};
  CLEANUP(stream_closep) struct stream *stream = &zstd->stream;
  zstd->context = ZSTD_createDCtx();
  if (!zstd->context)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "zstd: no memory");
  size_t r = ZSTD_DCtx_setParameter(zstd->context, ZSTD_d_windowLogMax, ZSTD_STREAM_WINDOW_LOG_MAX);
  if (ZSTD_isError(r))
    return explain(r, err);
  zstd->is_in_frame = true; /* a file without any frame is none */
  *ret_stream = TAKE(stream);
  return 0;
}
