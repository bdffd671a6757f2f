/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/xz.h"

#include <lzma.h>
#include <stdlib.h>

#include "lib/base/memory.h"

#define IN_BYTES ((size_t)64 << 10)

struct xz_stream {
  struct stream stream;
  lzma_stream lzma;
  bool is_below_at_end;
  bool is_at_end;
  uint8_t in[IN_BYTES];
};

static struct xz_stream *
xz_of(struct stream *stream)
{
  return (struct xz_stream *)stream;
}

static int
explain(struct xz_stream *xz, lzma_ret r, struct error **err)
{
  switch (r) {
  case LZMA_BUF_ERROR:
    return error_set(err, ERROR_DATA_LOSS, "xz: the file ends too early");
  case LZMA_MEMLIMIT_ERROR:
    return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                     "xz: the file needs %ju MiB of memory to be unpacked, the limit is %ju MiB",
                     (uintmax_t)((lzma_memusage(&xz->lzma) >> 20) + 1),
                     (uintmax_t)(XZ_MEMORY_MAX >> 20));
  case LZMA_MEM_ERROR:
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "xz: no memory");
  case LZMA_FORMAT_ERROR:
    return error_set(err, ERROR_DATA_LOSS, "xz: what is there is no xz header");
  case LZMA_OPTIONS_ERROR:
    return error_set(err, ERROR_INVALID_ARGUMENT, "xz: the file uses something that is not known");
  case LZMA_DATA_ERROR:
    return error_set(err, ERROR_DATA_LOSS, "xz: the file is damaged");
  default:
    return error_set(err, ERROR_INTERNAL, "xz: liblzma answers %d", (int)r);
  }
}

static int
fill(struct xz_stream *xz, struct error **err)
{
  if (xz->lzma.avail_in > 0 || xz->is_below_at_end)
    return 0;
  ssize_t got = stream_read(xz->stream.below, xz->in, sizeof(xz->in), err);
  if (got < 0)
    return -1;
  xz->lzma.next_in = xz->in;
  xz->lzma.avail_in = (size_t)got;
  xz->is_below_at_end = got == 0;
  return 0;
}

static ssize_t
xz_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct xz_stream *xz = xz_of(stream);
  xz->lzma.next_out = buf;
  xz->lzma.avail_out = len;
  while (!xz->is_at_end && xz->lzma.avail_out > 0) {
    if (fill(xz, err) < 0)
      return -1;
    lzma_ret r = lzma_code(&xz->lzma, xz->is_below_at_end ? LZMA_FINISH : LZMA_RUN);
    if (r == LZMA_STREAM_END)
      xz->is_at_end = true;
    else if (r != LZMA_OK)
      return explain(xz, r, err);
  }
  return (ssize_t)(len - xz->lzma.avail_out);
}

static void
xz_close(struct stream *stream)
{
  struct xz_stream *xz = xz_of(stream);
  stream_close(xz->stream.below);
  lzma_end(&xz->lzma);
  free(xz);
}

static const struct stream_ops xz_ops = {
    .name = "xz",
    .read = xz_read,
    .close = xz_close,
};

int
xz_stream_new(struct stream *below, struct stream **ret_stream, struct error **err)
{
  struct xz_stream *xz = xcalloc(1, sizeof(*xz));
  xz->stream = (struct stream){.ops = &xz_ops, .below = below};
  CLEANUP(stream_closep) struct stream *stream = &xz->stream;
  lzma_ret r = lzma_stream_decoder(&xz->lzma, XZ_MEMORY_MAX, LZMA_CONCATENATED);
  if (r != LZMA_OK)
    return explain(xz, r, err);
  *ret_stream = TAKE(stream);
  return 0;
}
