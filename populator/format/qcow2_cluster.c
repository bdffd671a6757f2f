/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_cluster.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/base/memory.h"

struct qcow2_cluster_decoder {
  enum qcow2_compression compression;
  size_t cluster_size;
  struct libdeflate_decompressor *deflate; /* made when first needed, as is the other */
  ZSTD_DCtx *zstd;
  char *whole; /* for a cluster that is wanted in part: the last of a disk */
};

struct qcow2_cluster_decoder *
qcow2_cluster_decoder_new(enum qcow2_compression compression, size_t cluster_size)
{
  struct qcow2_cluster_decoder *decoder = xcalloc(1, sizeof(*decoder));
  decoder->compression = compression;
  decoder->cluster_size = cluster_size;
  return decoder;
}

void
qcow2_cluster_decoder_free(struct qcow2_cluster_decoder *decoder)
{
  if (!decoder)
    return;
  if (decoder->deflate)
    libdeflate_free_decompressor(decoder->deflate);
  (void)ZSTD_freeDCtx(decoder->zstd);
  free(decoder->whole);
  free(decoder);
}

static int
decode_deflate(struct qcow2_cluster_decoder *decoder, const void *bytes, size_t bytes_len,
               void *content, struct error **err)
{
  if (!decoder->deflate && !(decoder->deflate = libdeflate_alloc_decompressor()))
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "qcow2: no memory");
  size_t taken, made;
  enum libdeflate_result r = libdeflate_deflate_decompress_ex(
      decoder->deflate, bytes, bytes_len, content, decoder->cluster_size, &taken, &made);
  if (r == LIBDEFLATE_INSUFFICIENT_SPACE)
    return error_set(err, ERROR_DATA_LOSS, "qcow2: a compressed cluster has too much in it");
  if (r != LIBDEFLATE_SUCCESS)
    return error_set(err, ERROR_DATA_LOSS, "qcow2: a compressed cluster is damaged");
  if (made != decoder->cluster_size)
    return error_set(err, ERROR_DATA_LOSS, "qcow2: a compressed cluster has too little in it");
  return 0;
}

static int
decode_zstd(struct qcow2_cluster_decoder *decoder, const void *bytes, size_t bytes_len,
            void *content, struct error **err)
{
  if (!decoder->zstd && !(decoder->zstd = ZSTD_createDCtx()))
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "qcow2: no memory");
  size_t frame = ZSTD_findFrameCompressedSize(bytes, bytes_len);
  size_t made = ZSTD_isError(frame) ? frame
                                    : ZSTD_decompressDCtx(decoder->zstd, content,
                                                          decoder->cluster_size, bytes, frame);
  if (ZSTD_isError(made))
    return error_set(err, ERROR_DATA_LOSS, "qcow2: a compressed cluster is damaged: %s",
                     ZSTD_getErrorName(made));
  if (made != decoder->cluster_size)
    return error_set(err, ERROR_DATA_LOSS, "qcow2: a compressed cluster has too little in it");
  return 0;
}

int
qcow2_cluster_decode(struct qcow2_cluster_decoder *decoder, const void *bytes, size_t bytes_len,
                     void *content, size_t len, struct error **err)
{
  assert(len <= decoder->cluster_size);
  void *room = content;
  if (len < decoder->cluster_size) {
    if (!decoder->whole)
      decoder->whole = xcalloc(1, decoder->cluster_size);
    room = decoder->whole;
  }
  int r = decoder->compression == QCOW2_COMPRESSION_ZSTD
              ? decode_zstd(decoder, bytes, bytes_len, room, err)
              : decode_deflate(decoder, bytes, bytes_len, room, err);
  if (r == 0 && room != content)
    memcpy(content, room, len);
  return r;
}
