/* SPDX-License-Identifier: Apache-2.0 */
/* Makes small qcow2 files in memory, by hand: sound ones first, which tests then damage. The file
 * is header, refcount table, refcount block, L1 table, and what is added, in clusters. */
#ifndef TESTS_FORMAT_QCOW2_IMAGE_H
#define TESTS_FORMAT_QCOW2_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buffer.h"
#include "populator/format/qcow2_file.h"

#define QCOW2_IMAGE_COPIED ((uint64_t)1 << 63)
#define QCOW2_IMAGE_COMPRESSED ((uint64_t)1 << 62)
/* Fields of the header. */
enum {
  QCOW2_AT_VERSION = 4,
  QCOW2_AT_BACKING_OFFSET = 8,
  QCOW2_AT_BACKING_LEN = 16,
  QCOW2_AT_CLUSTER_BITS = 20,
  QCOW2_AT_SIZE = 24,
  QCOW2_AT_CRYPT = 32,
  QCOW2_AT_L1_SIZE = 36,
  QCOW2_AT_L1_OFFSET = 40,
  QCOW2_AT_REFCOUNT_TABLE = 48,
  QCOW2_AT_REFCOUNT_TABLE_CLUSTERS = 56,
  QCOW2_AT_SNAPSHOTS = 60,
  QCOW2_AT_SNAPSHOTS_OFFSET = 64,
  QCOW2_AT_INCOMPATIBLE = 72,
  QCOW2_AT_REFCOUNT_ORDER = 96,
  QCOW2_AT_HEADER_LENGTH = 100,
  QCOW2_AT_COMPRESSION = 104,
};

struct qcow2_image {
  struct buffer bytes;
  unsigned cluster_bits;
  bool has_subclusters;
  uint64_t l1_offset;
};

/* Version 3 when has_subclusters or when asked for. */
void qcow2_image_init(struct qcow2_image *image, unsigned version, unsigned cluster_bits,
                      uint64_t virtual_size, bool has_subclusters);
void qcow2_image_clear(struct qcow2_image *image);

void qcow2_image_put32(struct qcow2_image *image, uint64_t offset, uint32_t value);
void qcow2_image_put64(struct qcow2_image *image, uint64_t offset, uint64_t value);
uint64_t qcow2_image_get64(const struct qcow2_image *image, uint64_t offset);
/* Adds bytes at the next cluster; the last is filled up with zeros. Where they are. */
uint64_t qcow2_image_append(struct qcow2_image *image, const void *data, size_t len);
/* Adds an L2 table, empty, and enters it into the L1 table. */
uint64_t qcow2_image_add_table(struct qcow2_image *image, uint64_t l1_index);
/* Where in the file the L2 entry of a cluster of the disk is; its table must be there. */
uint64_t qcow2_image_entry(const struct qcow2_image *image, uint64_t cluster);
/* Enters a cluster of the disk into its L2 table. */
void qcow2_image_map(struct qcow2_image *image, uint64_t cluster, uint64_t entry);
/* The entry of compressed data. */
uint64_t qcow2_image_compressed_entry(const struct qcow2_image *image, uint64_t offset, size_t len);

/* The file as a map reads it. */
struct qcow2_file qcow2_image_file(const struct qcow2_image *image);

#endif
