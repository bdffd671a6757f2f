/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/memory.h"
#include "populator/format/bytes.h"
#include "populator/format/image_facts_formats.h"
#include "populator/format/qcow2_header.h"

#define V2_BYTES 72
#define V3_BYTES 104
#define NAME_MAX_BYTES 1023

enum feature { DIRTY, CORRUPT, EXTERNAL_DATA_FILE, COMPRESSION_TYPE, EXTENDED_L2 };
#define HAS(features, feature) (((features) >> (feature)) & 1)
#define COMPATIBLE_LAZY_REFCOUNTS 0

enum extension {
  EXTENSION_END = 0,
  EXTENSION_BACKING_FORMAT = 0xe2792aca,
  EXTENSION_DATA_FILE = 0x44415441,
};

static void
read_backing_file(const unsigned char *bytes, size_t len, struct image_facts *facts)
{
  uint64_t offset = bytes_be64(bytes + 8);
  uint32_t name_len = bytes_be32(bytes + 16);
  if (offset == 0)
    return;
  bool has_name = name_len <= NAME_MAX_BYTES && offset <= len && name_len <= len - offset;
  facts->backing_file =
      image_facts_text(has_name ? bytes + offset : bytes, has_name ? name_len : 0);
}

static void
read_extensions(const unsigned char *bytes, size_t len, size_t at, struct image_facts *facts)
{
  while (len - at >= 8) {
    uint32_t type = bytes_be32(bytes + at);
    size_t data_len = bytes_be32(bytes + at + 4);
    at += 8;
    if (type == EXTENSION_END || data_len > len - at)
      return;
    char **text = type == EXTENSION_BACKING_FORMAT ? &facts->backing_format
                  : type == EXTENSION_DATA_FILE    ? &facts->data_file
                                                   : NULL;
    if (text && data_len <= NAME_MAX_BYTES) {
      free(*text);
      *text = image_facts_text(bytes + at, data_len);
    }
    size_t padded = (data_len + 7) & ~(size_t)7;
    at = padded > len - at ? len : at + padded;
  }
}

static const char *
compression_of(const unsigned char *bytes, size_t len, size_t header_len)
{
  unsigned type = header_len > V3_BYTES && len > V3_BYTES ? bytes[V3_BYTES] : 0;
  return type == QCOW2_COMPRESSION_ZLIB ? "zlib" : type == QCOW2_COMPRESSION_ZSTD ? "zstd" : "?";
}

static const char *
encryption_of(uint32_t method)
{
  static const char *const names[] = {NULL, "AES", "LUKS"};
  return method < sizeof(names) / sizeof(names[0]) ? names[method] : "?";
}

int
image_facts_of_qcow2(const unsigned char *bytes, size_t len, const struct image_facts_input *input,
                     struct image_facts *facts, struct error **err)
{
  (void)input, (void)err;
  if (len < V2_BYTES)
    return 0;
  uint32_t version = bytes_be32(bytes + 4);
  uint32_t cluster_bits = bytes_be32(bytes + 20);
  bool is_v3 = version >= 3 && len >= V3_BYTES;
  uint64_t features = is_v3 ? bytes_be64(bytes + 72) : 0;
  size_t header_len = is_v3 ? bytes_be32(bytes + 100) : V2_BYTES;
  facts->variant = xasprintf("version %u", version);
  facts->virtual_size = bytes_be64(bytes + 24);
  facts->cluster_size = cluster_bits < 32 ? (uint64_t)1 << cluster_bits : 0;
  facts->compression = compression_of(bytes, len, header_len);
  facts->encryption = encryption_of(bytes_be32(bytes + 32));
  facts->snapshot_count = bytes_be32(bytes + 60);
  facts->is_dirty = HAS(features, DIRTY);
  facts->is_corrupt = HAS(features, CORRUPT);
  facts->has_subclusters = HAS(features, EXTENDED_L2);
  facts->has_lazy_refcounts = is_v3 && HAS(bytes_be64(bytes + 80), COMPATIBLE_LAZY_REFCOUNTS);
  read_backing_file(bytes, len, facts);
  if (HAS(features, EXTERNAL_DATA_FILE))
    facts->data_file = xstrdup("");
  if (header_len <= len)
    read_extensions(bytes, len, header_len, facts);
  if (!HAS(features, EXTERNAL_DATA_FILE)) {
    free(facts->data_file);
    facts->data_file = NULL;
  }
  return 0;
}
