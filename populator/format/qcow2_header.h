/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a qcow2 file, versions 2 and 3, from bytes that nobody has looked at yet.
 *
 * What passes is safe to be worked with: offsets are aligned and do not overflow, tables have sizes
 * that qemu would accept too, the L1 table is large enough for the disk. What would make the disk
 * depend on anything but this file, or what we do not know, is refused by name. */
#ifndef POPULATOR_FORMAT_QCOW2_HEADER_H
#define POPULATOR_FORMAT_QCOW2_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#define QCOW2_MAGIC 0x514649fb /* "QFI" and a byte that is no text */
/* All that is read of a header, its extensions included. */
#define QCOW2_HEADER_BYTES ((size_t)64 << 10)
#define QCOW2_CLUSTER_BITS_MIN 9
#define QCOW2_CLUSTER_BITS_MAX 21
#define QCOW2_CLUSTER_MAX ((size_t)1 << QCOW2_CLUSTER_BITS_MAX)
/* The limits of qemu. */
#define QCOW2_L1_BYTES_MAX ((uint64_t)32 << 20)
#define QCOW2_REFCOUNT_TABLE_BYTES_MAX ((uint64_t)8 << 20)
#define QCOW2_SNAPSHOTS_MAX 65536
#define QCOW2_VIRTUAL_SIZE_MAX ((uint64_t)64 << 50)
/* Of a file that is read front to back. */
#define QCOW2_FILE_SIZE_UNKNOWN UINT64_MAX

enum qcow2_compression { QCOW2_COMPRESSION_ZLIB = 0, QCOW2_COMPRESSION_ZSTD = 1 };

struct qcow2_header {
  unsigned version;
  unsigned cluster_bits;
  uint64_t cluster_size;
  uint64_t virtual_size;
  enum qcow2_compression compression; /* of those clusters that are compressed */
  bool is_dirty;                      /* refcounts may be wrong, the mapping is right */
  bool has_subclusters;               /* entries of L2 tables have 16 bytes, not 8 */
  uint64_t l2_entries;                /* of each L2 table, which fills a cluster */
  uint64_t l1_offset;
  uint64_t l1_bytes;   /* as stored */
  uint64_t l1_entries; /* as many as the disk needs; at most l1_bytes / 8 */
  uint64_t refcount_table_offset;
  uint64_t refcount_table_bytes;
  uint64_t snapshots_offset;
  uint32_t snapshot_count; /* internal snapshots, which are ignored */
};

/* Of the first bytes of a file: QCOW2_HEADER_BYTES, or all where there are fewer.
 * INVALID_ARGUMENT: it is sound, as far as one sees, but not supported; DATA_LOSS: it is not. */
int qcow2_header_parse(const void *bytes, size_t len, uint64_t file_size,
                       struct qcow2_header *ret_header, struct error **err);

#endif
