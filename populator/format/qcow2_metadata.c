/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_metadata.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/memory.h"

#define PART_MASK ((uint64_t)(1 << QCOW2_CLUSTER_BITS_MIN) - 1)
#define SNAPSHOT_BYTES_MIN 40

static const char *const part_names[] = {
    [QCOW2_PART_HEADER] = "the header",
    [QCOW2_PART_L1] = "the L1 table",
    [QCOW2_PART_L2] = "an L2 table",
    [QCOW2_PART_REFCOUNT_TABLE] = "the refcount table",
    [QCOW2_PART_REFCOUNT_BLOCK] = "a refcount block",
    [QCOW2_PART_SNAPSHOTS] = "the snapshot table",
};

static int
overlap(const char *what, uint64_t offset, enum qcow2_part part, struct error **err)
{
  return error_set(err, ERROR_DATA_LOSS, "qcow2: %s at 0x%" PRIx64 " overlaps %s", what, offset,
                   part_names[part]);
}

static void
add_table(struct qcow2_metadata *metadata, uint64_t offset, uint64_t len, enum qcow2_part part)
{
  uint64_t mask = metadata->cluster_size - 1;
  size_t i = metadata->table_count++;
  metadata->tables[i].offset = offset;
  metadata->tables[i].len = (len + mask) & ~mask;
  metadata->tables[i].part = part;
}

void
qcow2_metadata_init(struct qcow2_metadata *metadata, const struct qcow2_header *header)
{
  *metadata = (struct qcow2_metadata){.cluster_size = header->cluster_size};
  add_table(metadata, 0, 1, QCOW2_PART_HEADER);
  add_table(metadata, header->l1_offset, header->l1_bytes, QCOW2_PART_L1);
  add_table(metadata, header->refcount_table_offset, header->refcount_table_bytes,
            QCOW2_PART_REFCOUNT_TABLE);
  if (header->snapshot_count > 0)
    add_table(metadata, header->snapshots_offset,
              (uint64_t)header->snapshot_count * SNAPSHOT_BYTES_MIN, QCOW2_PART_SNAPSHOTS);
}

void
qcow2_metadata_clear(struct qcow2_metadata *metadata)
{
  free(metadata->clusters);
  *metadata = (struct qcow2_metadata){0};
}

void
qcow2_metadata_add(struct qcow2_metadata *metadata, uint64_t offset, enum qcow2_part part)
{
  if (metadata->cluster_count == metadata->cluster_room) {
    size_t room = metadata->cluster_room;
    metadata->cluster_room = room < 64 ? 64 : room + room / 2;
    metadata->clusters = xrealloc(metadata->clusters, metadata->cluster_room, sizeof(uint64_t));
  }
  metadata->clusters[metadata->cluster_count++] = offset | (uint64_t)part;
}

enum qcow2_part
qcow2_metadata_part(const struct qcow2_metadata *metadata, size_t index)
{
  return (enum qcow2_part)(metadata->clusters[index] & PART_MASK);
}

uint64_t
qcow2_metadata_offset(const struct qcow2_metadata *metadata, size_t index)
{
  return metadata->clusters[index] & ~PART_MASK;
}

static int
compare(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

int
qcow2_metadata_seal(struct qcow2_metadata *metadata, struct error **err)
{
  for (size_t i = 0; i < metadata->table_count; i++) {
    for (size_t j = 0; j < i; j++) {
      if (metadata->tables[i].offset < metadata->tables[j].offset + metadata->tables[j].len &&
          metadata->tables[j].offset < metadata->tables[i].offset + metadata->tables[i].len)
        return overlap(part_names[metadata->tables[i].part], metadata->tables[i].offset,
                       metadata->tables[j].part, err);
    }
  }
  if (metadata->cluster_count > 1)
    qsort(metadata->clusters, metadata->cluster_count, sizeof(uint64_t), compare);
  for (size_t i = 0; i < metadata->cluster_count; i++) {
    uint64_t offset = qcow2_metadata_offset(metadata, i);
    const char *what = part_names[qcow2_metadata_part(metadata, i)];
    if (i > 0 && qcow2_metadata_offset(metadata, i - 1) == offset)
      return overlap(what, offset, qcow2_metadata_part(metadata, i - 1), err);
    for (size_t j = 0; j < metadata->table_count; j++) {
      if (offset - metadata->tables[j].offset < metadata->tables[j].len)
        return overlap(what, offset, metadata->tables[j].part, err);
    }
  }
  return 0;
}

int
qcow2_metadata_check(const struct qcow2_metadata *metadata, uint64_t offset, uint64_t len,
                     const char *what, struct error **err)
{
  uint64_t end = offset + len;
  for (size_t i = 0; i < metadata->table_count; i++) {
    if (offset < metadata->tables[i].offset + metadata->tables[i].len &&
        end > metadata->tables[i].offset)
      return overlap(what, offset, metadata->tables[i].part, err);
  }
  /* the first that ends behind the offset */
  size_t low = 0, high = metadata->cluster_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (qcow2_metadata_offset(metadata, middle) + metadata->cluster_size <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < metadata->cluster_count && qcow2_metadata_offset(metadata, low) < end)
    return overlap(what, offset, qcow2_metadata_part(metadata, low), err);
  return 0;
}
