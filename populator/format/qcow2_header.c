/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/format/bytes.h"

#define V2_BYTES 72
#define V3_BYTES_MIN 104
#define EXTENDED_L2_CLUSTER_BITS_MIN 14
#define REFCOUNT_ORDER_MAX 6
/* Offsets have no more bits anywhere in the format. */
#define OFFSET_MAX ((uint64_t)1 << 56)
/* A snapshot table entry has at least as many bytes. */
#define SNAPSHOT_BYTES_MIN 40

enum feature { DIRTY, CORRUPT, EXTERNAL_DATA_FILE, COMPRESSION_TYPE, EXTENDED_L2, FEATURES_KNOWN };
#define HAS(features, feature) (((features) >> (feature)) & 1)

enum extension {
  EXTENSION_END = 0,
  EXTENSION_FEATURE_NAMES = 0x6803f857,
  EXTENSION_ENCRYPTION = 0x0537be77,
};

#define FEATURE_NAME_ENTRY 48
#define FEATURE_NAME_LEN 46
#define FEATURE_TYPE_INCOMPATIBLE 0

/* The header while it is looked at: `length` is where its extensions begin. */
struct raw_header {
  const unsigned char *bytes;
  size_t len;
  uint64_t file_size;
  uint64_t incompatible;
  uint32_t length;
  /* What the extensions say. */
  const unsigned char *feature_names;
  size_t feature_names_len;
  bool has_encryption;
};

static uint32_t
u32_at(const struct raw_header *raw, size_t offset)
{
  return bytes_be32(raw->bytes + offset);
}

static uint64_t
u64_at(const struct raw_header *raw, size_t offset)
{
  return bytes_be64(raw->bytes + offset);
}

#define DAMAGED(err, ...) error_set(err, ERROR_DATA_LOSS, "qcow2: " __VA_ARGS__)
#define REFUSED(err, ...) error_set(err, ERROR_INVALID_ARGUMENT, "qcow2: " __VA_ARGS__)

/* Text out of the file, fit for a message. */
static char *
printable(const unsigned char *text, size_t len)
{
  char *copy = xstrndup((const char *)text, len);
  for (char *c = copy; *c; c++) {
    if (*c < ' ' || *c > '~')
      *c = '?';
  }
  return copy;
}

/* ---- extensions --------------------------------------------------------------------------------
 */

static int
walk_extensions(struct raw_header *raw, uint64_t cluster_size, struct error **err)
{
  size_t end = raw->len < cluster_size ? raw->len : cluster_size;
  size_t at = raw->length;
  while (at < end) {
    if (end - at < 8)
      return DAMAGED(err, "the header extensions do not end");
    uint32_t type = u32_at(raw, at);
    uint32_t len = u32_at(raw, at + 4);
    if (type == EXTENSION_END)
      return 0;
    at += 8;
    if (len > end - at)
      return DAMAGED(err, "header extension 0x%08" PRIx32 " is longer than the header", type);
    if (type == EXTENSION_FEATURE_NAMES) {
      raw->feature_names = raw->bytes + at;
      raw->feature_names_len = len;
    }
    raw->has_encryption = raw->has_encryption || type == EXTENSION_ENCRYPTION;
    size_t padded = ((size_t)len + 7) & ~(size_t)7;
    at = padded > end - at ? end : at + padded;
  }
  /* at the end of the cluster none is needed */
  return end == cluster_size ? 0 : DAMAGED(err, "the header extensions do not end");
}

static int
refuse_feature(const struct raw_header *raw, unsigned bit, struct error **err)
{
  for (size_t at = 0; raw->feature_names && raw->feature_names_len - at >= FEATURE_NAME_ENTRY;
       at += FEATURE_NAME_ENTRY) {
    const unsigned char *entry = raw->feature_names + at;
    if (entry[0] != FEATURE_TYPE_INCOMPATIBLE || entry[1] != bit)
      continue;
    CLEANUP(freep) char *name = printable(entry + 2, FEATURE_NAME_LEN);
    return REFUSED(err, "it needs the feature '%s' (bit %u), which is not supported", name, bit);
  }
  return REFUSED(err, "it needs a feature that is not known (bit %u)", bit);
}

/* ---- what is refused ---------------------------------------------------------------------------
 */

static int
check_features(struct raw_header *raw, struct error **err)
{
  uint64_t unknown = raw->incompatible >> FEATURES_KNOWN;
  if (unknown)
    return refuse_feature(raw, FEATURES_KNOWN + (unsigned)__builtin_ctzll(unknown), err);
  if (HAS(raw->incompatible, CORRUPT))
    return DAMAGED(err, "it is marked as corrupt; 'qemu-img check -r all' may repair it");
  if (HAS(raw->incompatible, EXTERNAL_DATA_FILE))
    return REFUSED(err, "its data is in another file; 'qemu-img convert' makes one file of both");
  return 0;
}

static int
check_backing_file(const struct raw_header *raw, struct error **err)
{
  uint64_t offset = u64_at(raw, 8);
  uint32_t len = u32_at(raw, 16);
  if (offset != 0 && len > 0 && len <= 1023 && offset <= raw->len && len <= raw->len - offset) {
    CLEANUP(freep) char *name = printable(raw->bytes + offset, len);
    return REFUSED(err, "it has a backing file ('%s'); 'qemu-img convert' makes one file of both",
                   name);
  }
  if (offset != 0)
    return REFUSED(err, "it has a backing file; 'qemu-img convert' makes one file of both");
  return 0;
}

static int
check_encryption(const struct raw_header *raw, struct error **err)
{
  uint32_t method = u32_at(raw, 32);
  if (method == 2 || (method == 0 && raw->has_encryption))
    return REFUSED(err, "it is encrypted (LUKS)");
  if (method == 1)
    return REFUSED(err, "it is encrypted (AES)");
  if (method != 0)
    return REFUSED(err, "it is encrypted (method %" PRIu32 ")", method);
  return 0;
}

static int
check_compression(const struct raw_header *raw, enum qcow2_compression *ret_compression,
                  struct error **err)
{
  unsigned type = raw->length > V3_BYTES_MIN ? raw->bytes[V3_BYTES_MIN] : 0;
  if (HAS(raw->incompatible, COMPRESSION_TYPE) != (type != QCOW2_COMPRESSION_ZLIB))
    return DAMAGED(err, "compression type %u and the features contradict each other", type);
  if (type > QCOW2_COMPRESSION_ZSTD)
    return REFUSED(err, "compression type %u is not known", type);
  *ret_compression = (enum qcow2_compression)type;
  return 0;
}

/* ---- where things are --------------------------------------------------------------------------
 */

static int
check_place(const struct raw_header *raw, uint64_t offset, uint64_t len, uint64_t cluster_size,
            const char *what, struct error **err)
{
  if (offset % cluster_size != 0)
    return DAMAGED(err, "%s at 0x%" PRIx64 " is not aligned to a cluster", what, offset);
  if (offset == 0 || offset > OFFSET_MAX)
    return DAMAGED(err, "%s cannot be at 0x%" PRIx64, what, offset);
  if (raw->file_size != QCOW2_FILE_SIZE_UNKNOWN &&
      (offset > raw->file_size || len > raw->file_size - offset))
    return DAMAGED(err,
                   "%s at 0x%" PRIx64 " lies outside the file of %" PRIu64
                   " bytes: the file is truncated or damaged",
                   what, offset, raw->file_size);
  return 0;
}

static int
parse_sizes(const struct raw_header *raw, struct qcow2_header *header, struct error **err)
{
  char size[TEXT_BYTES_MAX];
  header->virtual_size = u64_at(raw, 24);
  if (header->virtual_size == 0)
    return REFUSED(err, "the disk in it has no size");
  if (header->virtual_size > QCOW2_VIRTUAL_SIZE_MAX)
    return REFUSED(err, "the disk in it is said to have %s, which is absurd",
                   text_of_bytes(header->virtual_size, size));
  header->has_subclusters = HAS(raw->incompatible, EXTENDED_L2);
  if (header->has_subclusters && header->cluster_bits < EXTENDED_L2_CLUSTER_BITS_MIN)
    return DAMAGED(err, "clusters of %" PRIu64 " bytes are too small for subclusters",
                   header->cluster_size);
  header->l2_entries = header->cluster_size / (header->has_subclusters ? 16 : 8);
  uint64_t table_maps = header->l2_entries * header->cluster_size;
  header->l1_entries = (header->virtual_size + table_maps - 1) / table_maps;
  header->l1_bytes = (uint64_t)u32_at(raw, 36) * 8;
  if (header->l1_bytes > QCOW2_L1_BYTES_MAX)
    return REFUSED(err, "the L1 table is too large (%s)", text_of_bytes(header->l1_bytes, size));
  if (header->l1_bytes / 8 < header->l1_entries)
    return DAMAGED(err,
                   "the L1 table is too small: it has %" PRIu64 " entries, a disk of %s needs "
                   "%" PRIu64,
                   header->l1_bytes / 8, text_of_bytes(header->virtual_size, size),
                   header->l1_entries);
  return 0;
}

static int
parse_places(const struct raw_header *raw, struct qcow2_header *header, struct error **err)
{
  header->l1_offset = u64_at(raw, 40);
  header->refcount_table_offset = u64_at(raw, 48);
  header->refcount_table_bytes = u32_at(raw, 56) * header->cluster_size;
  header->snapshot_count = u32_at(raw, 60);
  header->snapshots_offset = u64_at(raw, 64);
  uint64_t cluster_size = header->cluster_size;
  if (check_place(raw, header->l1_offset, header->l1_bytes, cluster_size, "the L1 table", err) < 0)
    return -1;
  if (header->refcount_table_bytes == 0)
    return DAMAGED(err, "it has no refcount table");
  if (header->refcount_table_bytes > QCOW2_REFCOUNT_TABLE_BYTES_MAX)
    return REFUSED(err, "the refcount table is too large");
  if (check_place(raw, header->refcount_table_offset, header->refcount_table_bytes, cluster_size,
                  "the refcount table", err) < 0)
    return -1;
  if (header->snapshot_count > QCOW2_SNAPSHOTS_MAX)
    return REFUSED(err, "it has too many snapshots (%" PRIu32 ")", header->snapshot_count);
  if (header->snapshot_count > 0 &&
      check_place(raw, header->snapshots_offset,
                  (uint64_t)header->snapshot_count * SNAPSHOT_BYTES_MIN, cluster_size,
                  "the snapshot table", err) < 0)
    return -1;
  return 0;
}

/* Version, cluster size and length: what everything else is measured by. */
static int
parse_frame(struct raw_header *raw, struct qcow2_header *header, struct error **err)
{
  if (raw->len < 8 || u32_at(raw, 0) != QCOW2_MAGIC)
    return DAMAGED(err, "it has no qcow2 header");
  header->version = u32_at(raw, 4);
  if (header->version != 2 && header->version != 3)
    return REFUSED(err, "version %u is not supported", header->version);
  if (raw->len < (header->version == 2 ? V2_BYTES : V3_BYTES_MIN))
    return DAMAGED(err, "the file ends in its header");
  header->cluster_bits = u32_at(raw, 20);
  if (header->cluster_bits < QCOW2_CLUSTER_BITS_MIN ||
      header->cluster_bits > QCOW2_CLUSTER_BITS_MAX)
    return DAMAGED(err, "clusters cannot have 2^%u bytes", header->cluster_bits);
  header->cluster_size = (uint64_t)1 << header->cluster_bits;
  raw->length = V2_BYTES;
  if (header->version == 2)
    return 0;
  raw->incompatible = u64_at(raw, 72);
  raw->length = u32_at(raw, 100);
  if (raw->length < V3_BYTES_MIN || raw->length % 8 != 0 || raw->length > header->cluster_size ||
      raw->length > raw->len)
    return DAMAGED(err, "a header cannot have %" PRIu32 " bytes", raw->length);
  uint32_t refcount_order = u32_at(raw, 96);
  if (refcount_order > REFCOUNT_ORDER_MAX)
    return DAMAGED(err, "refcounts cannot have 2^%" PRIu32 " bits", refcount_order);
  return 0;
}

int
qcow2_header_parse(const void *bytes, size_t len, uint64_t file_size,
                   struct qcow2_header *ret_header, struct error **err)
{
  struct raw_header raw = {.bytes = bytes,
                           .len = len < QCOW2_HEADER_BYTES ? len : QCOW2_HEADER_BYTES,
                           .file_size = file_size};
  struct qcow2_header header = {0};
  if (parse_frame(&raw, &header, err) < 0 || check_backing_file(&raw, err) < 0 ||
      walk_extensions(&raw, header.cluster_size, err) < 0 || check_features(&raw, err) < 0 ||
      check_encryption(&raw, err) < 0 || check_compression(&raw, &header.compression, err) < 0 ||
      parse_sizes(&raw, &header, err) < 0 || parse_places(&raw, &header, err) < 0)
    return -1;
  header.is_dirty = HAS(raw.incompatible, DIRTY);
  *ret_header = header;
  return 0;
}
