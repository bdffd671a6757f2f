/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_cluster.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "lib/base/memory.h"
#include "populator/format/deflate_lanes.h"

struct qcow2_cluster_decoder {
  enum qcow2_compression compression;
  size_t cluster_size;
  struct libdeflate_decompressor *deflate; /* made when first needed, as is the other */
  ZSTD_DCtx *zstd;
  struct deflate_lanes *lanes; /* NULL: not needed yet, or the processor has none */
  bool are_lanes_tried;
  bool are_lanes_slow; /* then they are not used any more */
  char *whole;         /* for a cluster that is wanted in part: the last of a disk */
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
  deflate_lanes_free(decoder->lanes);
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

/* ---- many --------------------------------------------------------------------------------------
 */

/* Descending. */
static int
compare_keys(const void *left, const void *right)
{
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a < b) - (a > b);
}

/* Those that take longest first, or at the end one lane would be busy and the others idle. A key
 * has the length above the number of the piece. */
static void
sort_by_length(const struct qcow2_piece *pieces, size_t count, uint64_t *keys)
{
  for (size_t i = 0; i < count; i++)
    keys[i] = (uint64_t)pieces[i].bytes_len << 32 | i;
  qsort(keys, count, sizeof(keys[0]), compare_keys);
}

/* Decodes what lanes can do of the pieces and sets is_done of these. */
static void
decode_in_lanes(struct qcow2_cluster_decoder *decoder, const struct qcow2_piece *pieces,
                size_t count, bool *is_done)
{
  uint64_t keys[QCOW2_PIECES_MAX];
  struct deflate_stream streams[QCOW2_PIECES_MAX];
  size_t numbers[QCOW2_PIECES_MAX];
  size_t n = 0;
  sort_by_length(pieces, count, keys);
  for (size_t i = 0; i < count; i++) {
    const struct qcow2_piece *piece = &pieces[(uint32_t)keys[i]];
    if (piece->len != decoder->cluster_size)
      continue;
    numbers[n] = (uint32_t)keys[i];
    streams[n++] = (struct deflate_stream){.in = piece->bytes,
                                           .in_len = piece->bytes_len,
                                           .out = piece->content,
                                           .out_len = piece->len};
  }
  deflate_lanes_inflate(decoder->lanes, streams, n);
  for (size_t i = 0; i < n; i++)
    is_done[numbers[i]] = streams[i].is_done;
}

/* Processor time of this thread. */
static int64_t
thread_ns(void)
{
  struct timespec ts;
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* How long it takes to decode what lanes have decoded, one by one. */
static int64_t
ns_one_by_one(struct qcow2_cluster_decoder *decoder, const struct qcow2_piece *pieces, size_t count,
              const bool *is_done)
{
  int64_t start = thread_ns();
  for (size_t i = 0; i < count; i++) {
    if (is_done[i])
      (void)qcow2_cluster_decode(decoder, pieces[i].bytes, pieces[i].bytes_len, pieces[i].content,
                                 pieces[i].len, NULL);
  }
  return thread_ns() - start;
}

static int64_t
ns_in_lanes(struct qcow2_cluster_decoder *decoder, const struct qcow2_piece *pieces, size_t count,
            bool *is_done)
{
  int64_t start = thread_ns();
  decode_in_lanes(decoder, pieces, count, is_done);
  return thread_ns() - start;
}

/* Lanes live on the processor's gather instruction, which some do no faster than single loads, and
 * some far slower, where microcode keeps it from telling others' secrets. So one batch is done both
 * ways, and once before: whoever is first to touch its memory would lose. */
static void
try_lanes(struct qcow2_cluster_decoder *decoder, const struct qcow2_piece *pieces, size_t count,
          bool *is_done)
{
  size_t done = 0;
  decode_in_lanes(decoder, pieces, count, is_done);
  for (size_t i = 0; i < count; i++)
    done += is_done[i];
  if (done < DEFLATE_LANES_WORTH)
    return;
  decoder->are_lanes_tried = true;
  int64_t one_by_one = ns_one_by_one(decoder, pieces, count, is_done);
  decoder->are_lanes_slow = ns_in_lanes(decoder, pieces, count, is_done) > one_by_one;
}

int
qcow2_cluster_decode_all(struct qcow2_cluster_decoder *decoder, const struct qcow2_piece *pieces,
                         size_t count, size_t *ret_failed, struct error **err)
{
  assert(count <= QCOW2_PIECES_MAX);
  bool is_done[QCOW2_PIECES_MAX] = {false};
  if (decoder->compression == QCOW2_COMPRESSION_ZLIB && count >= DEFLATE_LANES_WORTH &&
      !decoder->are_lanes_slow) {
    if (!decoder->lanes)
      decoder->lanes = deflate_lanes_new();
    if (decoder->lanes && !decoder->are_lanes_tried)
      try_lanes(decoder, pieces, count, is_done);
    else if (decoder->lanes)
      decode_in_lanes(decoder, pieces, count, is_done);
  }
  for (size_t i = 0; i < count; i++) {
    if (!is_done[i] && qcow2_cluster_decode(decoder, pieces[i].bytes, pieces[i].bytes_len,
                                            pieces[i].content, pieces[i].len, err) < 0) {
      *ret_failed = i;
      return -1;
    }
  }
  return 0;
}
