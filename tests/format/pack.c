/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/format/pack.h"

#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"

static void
deflate_fixed(struct buffer *out, const void *data, size_t len)
{
  struct isal_zstream stream;
  size_t room = 2 * len + 1024;
  CLEANUP(freep) unsigned char *packed = xcalloc(1, room);
  isal_deflate_init(&stream);
  (void)isal_deflate_set_hufftables(&stream, NULL, IGZIP_HUFFTABLE_STATIC);
  stream.next_in = (uint8_t *)data;
  stream.avail_in = (uint32_t)len;
  stream.next_out = packed;
  stream.avail_out = (uint32_t)room;
  stream.end_of_stream = 1;
  (void)isal_deflate(&stream);
  (void)buffer_append(out, packed, stream.total_out);
}

void
pack_deflate(struct buffer *out, const void *data, size_t len, enum pack_blocks blocks)
{
  if (blocks == PACK_FIXED) {
    deflate_fixed(out, data, len);
    return;
  }
  struct libdeflate_compressor *compressor =
      libdeflate_alloc_compressor(blocks == PACK_STORED ? 0 : 6);
  size_t room = libdeflate_deflate_compress_bound(compressor, len);
  CLEANUP(freep) char *packed = xcalloc(1, room);
  (void)buffer_append(out, packed,
                      libdeflate_deflate_compress(compressor, data, len, packed, room));
  libdeflate_free_compressor(compressor);
}

bool
pack_inflate(const void *packed, size_t packed_len, void *out, size_t out_len)
{
  struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
  size_t made = 0;
  enum libdeflate_result r =
      libdeflate_deflate_decompress_ex(decompressor, packed, packed_len, out, out_len, NULL, &made);
  libdeflate_free_decompressor(decompressor);
  return r == LIBDEFLATE_SUCCESS && made == out_len;
}

void
pack_gzip(struct buffer *out, const void *data, size_t len, enum pack_blocks blocks, unsigned flags)
{
  size_t start = out->len;
  const unsigned char header[] = {0x1f, 0x8b, 8, (unsigned char)flags, 1, 2, 3, 4, 0, 3};
  (void)buffer_append(out, header, sizeof(header));
  if (flags & PACK_EXTRA) {
    char extra[700] = {(char)(698 & 0xff), (char)(698 >> 8), 'A'};
    (void)buffer_append(out, extra, sizeof(extra));
  }
  if (flags & PACK_NAME)
    (void)buffer_append(out, "disk.raw", 9);
  if (flags & PACK_COMMENT)
    (void)buffer_append(out, "no comment", 11);
  if (flags & PACK_HEADER_CRC) {
    uint32_t crc = libdeflate_crc32(0, out->data + start, out->len - start);
    const unsigned char bytes[] = {(unsigned char)crc, (unsigned char)(crc >> 8)};
    (void)buffer_append(out, bytes, sizeof(bytes));
  }
  pack_deflate(out, data, len, blocks);
  buffer_append_u32(out, libdeflate_crc32(0, data, len));
  buffer_append_u32(out, (uint32_t)len);
}

void
pack_fill(char *data, size_t len, unsigned seed)
{
  static const char words[] = "a volume made from an image is a clone of it ";
  uint32_t random = seed * 2654435761U + 1;
  for (size_t at = 0; at < len;) {
    random = random * 1664525 + 1013904223;
    size_t part = 1 + (random >> 16) % 3000;
    if (part > len - at)
      part = len - at;
    unsigned kind = (random >> 8) % 4;
    for (size_t i = 0; i < part; i++, at++) {
      random = random * 1664525 + 1013904223;
      data[at] = kind == 0 ? (char)(random >> 24) : kind == 1 ? 0 : words[(at * kind) % 45];
    }
  }
}
