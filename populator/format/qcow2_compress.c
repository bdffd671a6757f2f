/* SPDX-License-Identifier: Apache-2.0 */
/* Deflate by ISA-L: qcow2 wants raw deflate with a window of 4 KiB, and ISA-L is the library that
 * is both fast and can be told the window (libdeflate always uses 32 KiB, which some readers
 * refuse). */
#include "populator/format/qcow2_compress.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/base/memory.h"

#define WINDOW_BITS 12
/* ISA-L's best; still some 300 MB a second on one core. */
#define DEFLATE_LEVEL 2
#define ZSTD_LEVEL 3

struct qcow2_compressor {
  enum qcow2_compression compression;
  struct isal_zstream deflate;
  uint8_t *level_buffer;
  ZSTD_CCtx *zstd;
};

struct qcow2_compressor *
qcow2_compressor_new(enum qcow2_compression compression)
{
  struct qcow2_compressor *compressor = xcalloc(1, sizeof(*compressor));
  compressor->compression = compression;
  if (compression == QCOW2_COMPRESSION_ZSTD) {
    compressor->zstd = ZSTD_createCCtx();
    if (!compressor->zstd)
      abort();
  } else {
    compressor->level_buffer = xcalloc(1, ISAL_DEF_LVL2_DEFAULT);
  }
  return compressor;
}

void
qcow2_compressor_free(struct qcow2_compressor *compressor)
{
  if (!compressor)
    return;
  (void)ZSTD_freeCCtx(compressor->zstd);
  free(compressor->level_buffer);
  free(compressor);
}

static size_t
compress_deflate(struct qcow2_compressor *compressor, const void *cluster, void *out, size_t room)
{
  struct isal_zstream *stream = &compressor->deflate;
  isal_deflate_init(stream);
  stream->end_of_stream = 1;
  stream->flush = NO_FLUSH;
  stream->gzip_flag = IGZIP_DEFLATE;
  stream->hist_bits = WINDOW_BITS;
  stream->level = DEFLATE_LEVEL;
  stream->level_buf = compressor->level_buffer;
  stream->level_buf_size = ISAL_DEF_LVL2_DEFAULT;
  stream->next_in = (uint8_t *)cluster;
  stream->avail_in = (uint32_t)QCOW2_WRITER_CLUSTER;
  stream->next_out = out;
  stream->avail_out = (uint32_t)room;
  if (isal_deflate(stream) != COMP_OK || stream->internal_state.state != ZSTATE_END)
    return 0;
  return room - stream->avail_out;
}

size_t
qcow2_compress(struct qcow2_compressor *compressor, const void *cluster, void *out)
{
  /* What is not at least a sector smaller is not worth decompressing. */
  size_t room = QCOW2_WRITER_CLUSTER - 512;
  if (compressor->compression == QCOW2_COMPRESSION_ZLIB)
    return compress_deflate(compressor, cluster, out, room);
  size_t len =
      ZSTD_compressCCtx(compressor->zstd, out, room, cluster, QCOW2_WRITER_CLUSTER, ZSTD_LEVEL);
  return ZSTD_isError(len) ? 0 : len;
}
