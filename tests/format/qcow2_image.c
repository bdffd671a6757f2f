/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/format/qcow2_image.h"

#include <assert.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"

void
qcow2_image_put32(struct qcow2_image *image, uint64_t offset, uint32_t value)
{
  value = htobe32(value);
  assert(offset + 4 <= image->bytes.len);
  memcpy(image->bytes.data + offset, &value, sizeof(value));
}

void
qcow2_image_put64(struct qcow2_image *image, uint64_t offset, uint64_t value)
{
  assert(offset + 8 <= image->bytes.len);
  bytes_put_be64(image->bytes.data + offset, value);
}

uint64_t
qcow2_image_get64(const struct qcow2_image *image, uint64_t offset)
{
  assert(offset + 8 <= image->bytes.len);
  return bytes_be64(image->bytes.data + offset);
}

uint64_t
qcow2_image_append(struct qcow2_image *image, const void *data, size_t len)
{
  uint64_t offset = image->bytes.len;
  size_t padding = -len & (((size_t)1 << image->cluster_bits) - 1);
  CLEANUP(freep) char *zeros = xcalloc(1, padding + 1);
  (void)buffer_append(&image->bytes, data, len);
  (void)buffer_append(&image->bytes, zeros, padding);
  return offset;
}

static uint64_t
append_zeros(struct qcow2_image *image, size_t len)
{
  CLEANUP(freep) char *zeros = xcalloc(1, len);
  return qcow2_image_append(image, zeros, len);
}

static uint64_t
l2_entries(const struct qcow2_image *image)
{
  return ((uint64_t)1 << image->cluster_bits) / (image->has_subclusters ? 16 : 8);
}

void
qcow2_image_init(struct qcow2_image *image, unsigned version, unsigned cluster_bits,
                 uint64_t virtual_size, bool has_subclusters)
{
  uint64_t cluster_size = (uint64_t)1 << cluster_bits;
  *image = (struct qcow2_image){.cluster_bits = cluster_bits, .has_subclusters = has_subclusters};
  uint64_t table_maps = l2_entries(image) * cluster_size;
  uint64_t l1_size = (virtual_size + table_maps - 1) / table_maps;
  (void)append_zeros(image, cluster_size);
  uint64_t refcount_table = append_zeros(image, cluster_size);
  uint64_t refcount_block = append_zeros(image, cluster_size);
  image->l1_offset = append_zeros(image, l1_size * 8);
  qcow2_image_put32(image, 0, 0x514649fb);
  qcow2_image_put32(image, QCOW2_AT_VERSION, version);
  qcow2_image_put32(image, QCOW2_AT_CLUSTER_BITS, cluster_bits);
  qcow2_image_put64(image, QCOW2_AT_SIZE, virtual_size);
  qcow2_image_put32(image, QCOW2_AT_L1_SIZE, (uint32_t)l1_size);
  qcow2_image_put64(image, QCOW2_AT_L1_OFFSET, image->l1_offset);
  qcow2_image_put64(image, QCOW2_AT_REFCOUNT_TABLE, refcount_table);
  qcow2_image_put32(image, QCOW2_AT_REFCOUNT_TABLE_CLUSTERS, 1);
  qcow2_image_put64(image, refcount_table, refcount_block);
  if (version >= 3) {
    qcow2_image_put64(image, QCOW2_AT_INCOMPATIBLE, has_subclusters ? 1 << 4 : 0);
    qcow2_image_put32(image, QCOW2_AT_REFCOUNT_ORDER, 4);
    qcow2_image_put32(image, QCOW2_AT_HEADER_LENGTH, 112);
  }
}

void
qcow2_image_clear(struct qcow2_image *image)
{
  buffer_clear(&image->bytes);
}

uint64_t
qcow2_image_add_table(struct qcow2_image *image, uint64_t l1_index)
{
  uint64_t table = append_zeros(image, (size_t)1 << image->cluster_bits);
  qcow2_image_put64(image, image->l1_offset + l1_index * 8, table | QCOW2_IMAGE_COPIED);
  return table;
}

uint64_t
qcow2_image_entry(const struct qcow2_image *image, uint64_t cluster)
{
  uint64_t entries = l2_entries(image);
  uint64_t table = qcow2_image_get64(image, image->l1_offset + cluster / entries * 8);
  return (table & ~QCOW2_IMAGE_COPIED) + cluster % entries * (image->has_subclusters ? 16 : 8);
}

void
qcow2_image_map(struct qcow2_image *image, uint64_t cluster, uint64_t entry)
{
  uint64_t at = qcow2_image_entry(image, cluster);
  qcow2_image_put64(image, at, entry);
  if (image->has_subclusters && !(entry & QCOW2_IMAGE_COMPRESSED))
    qcow2_image_put64(image, at + 8, UINT32_MAX);
}

uint64_t
qcow2_image_compressed_entry(const struct qcow2_image *image, uint64_t offset, size_t len)
{
  uint64_t more_sectors = (offset + len - 1) / 512 - offset / 512;
  return QCOW2_IMAGE_COMPRESSED | more_sectors << (62 - (image->cluster_bits - 8)) | offset;
}

static int
read_at(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  const struct qcow2_image *image = context;
  if (offset > image->bytes.len || len > image->bytes.len - offset)
    return error_set(err, ERROR_OUT_OF_RANGE, "a read outside the file");
  memcpy(buf, image->bytes.data + offset, len);
  return 0;
}

struct qcow2_file
qcow2_image_file(const struct qcow2_image *image)
{
  return (struct qcow2_file){
      .read_at = read_at, .context = (void *)image, .size = image->bytes.len};
}
