/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/unpack.h"

#include <string.h>

#include "populator/format/gzip.h"
#include "populator/format/peek.h"
#include "populator/format/xz.h"
#include "populator/format/zstd.h"

static int
decompress(enum probe_format format, struct stream *below, struct stream **ret_stream,
           struct error **err)
{
  switch (format) {
  case PROBE_GZIP:
    return gzip_stream_new(below, ret_stream, err);
  case PROBE_XZ:
    return xz_stream_new(below, ret_stream, err);
  default:
    return zstd_stream_new(below, ret_stream, err);
  }
}

int
unpack_stream_new(struct stream *below, struct stream **ret_stream, struct probe *ret_probe,
                  struct error **err)
{
  struct probe probe;
  struct stream *stream = NULL;
  if (peek_stream_new(below, &stream, &probe, err) < 0)
    return -1;
  for (unsigned layers = 0; probe_is_compressed(probe.format); layers++) {
    if (layers == UNPACK_LAYERS_MAX) {
      stream_close(stream);
      return error_set(err, ERROR_INVALID_ARGUMENT, "it is compressed more than %d times over",
                       UNPACK_LAYERS_MAX);
    }
    struct stream *inside = NULL;
    if (decompress(probe.format, stream, &inside, err) < 0 ||
        peek_stream_new(inside, &stream, &probe, err) < 0)
      return -1;
  }
  *ret_stream = stream;
  *ret_probe = probe;
  return 0;
}

int
unpack_stream_restore(struct stream *below, const char *name, const void *state, size_t len,
                      size_t *ret_used, struct stream **ret_stream, struct error **err)
{
  if (strcmp(name, "peek") == 0)
    return peek_stream_restore(below, state, len, ret_used, ret_stream, err);
  if (strcmp(name, "gzip") == 0)
    return gzip_stream_restore(below, state, len, ret_used, ret_stream, err);
  if (strcmp(name, "xz") == 0)
    return xz_stream_restore(below, state, len, ret_used, ret_stream, err);
  if (strcmp(name, "zstd") == 0)
    return zstd_stream_restore(below, state, len, ret_used, ret_stream, err);
  stream_close(below);
  return error_set(err, ERROR_UNIMPLEMENTED, "a saved state of '%.32s' cannot be gone on from",
                   name);
}
