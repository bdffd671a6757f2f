/* SPDX-License-Identifier: Apache-2.0 */
/* What the entries of a qcow2 file's tables say.
 *
 * A disk is cut into clusters. The L1 table names L2 tables, each of one cluster; an entry of an L2
 * table says where one cluster of the disk lies in the file (the host side), compressed or not.
 * Clusters without an entry, and those marked as zeros, read as zeros and are not mentioned here:
 * there is no backing file that could show through.
 *
 * Pure functions on bytes from outside; each entry is checked for what can be told from itself. */
#ifndef POPULATOR_FORMAT_QCOW2_TABLE_H
#define POPULATOR_FORMAT_QCOW2_TABLE_H

#include "populator/format/qcow2_header.h"
#include "populator/format/qcow2_metadata.h"

#define QCOW2_SECTOR 512
#define QCOW2_SUBCLUSTERS 32
#define QCOW2_ALL_SUBCLUSTERS UINT32_MAX
/* A compressed cluster is not read further than this beyond the size of a cluster: no compressor
 * makes more of it. */
#define QCOW2_COMPRESSED_OVERHEAD 4096

enum qcow2_kind { QCOW2_DATA, QCOW2_COMPRESSED };

/* Clusters that lie one behind the other on the disk and in the file. Files have millions of them,
 * so it is small. */
struct qcow2_run {
  uint64_t host_offset;
  uint64_t virtual_offset; /* a multiple of the cluster size, less than the virtual size */
  uint32_t count : 28;     /* data: clusters; compressed: sectors of the file that it touches */
  uint32_t kind : 4;       /* enum qcow2_kind */
  uint32_t subclusters;    /* data: those that hold data, bit 0 the first; others are zeros */
};

/* A piece of the disk and where it is in the file. */
struct qcow2_extent {
  uint64_t virtual_offset;
  uint64_t host_offset;
  uint64_t length;      /* of the disk: never beyond the virtual size */
  uint64_t host_length; /* data: the same; compressed: bytes in which the cluster ends somewhere */
  bool is_compressed;   /* one cluster, of which the first `length` bytes belong to the disk */
};

/* An L1 entry: *ret_offset of its L2 table, 0 where there is none. */
int qcow2_l1_entry(const struct qcow2_header *header, uint64_t entry, uint64_t *ret_offset,
                   struct error **err);
/* An entry of the refcount table: *ret_offset of its block, 0 where there is none. */
int qcow2_refcount_table_entry(const struct qcow2_header *header, uint64_t entry,
                               uint64_t *ret_offset, struct error **err);

/* Called with each run of a table, in the order of the disk; -1 ends it. */
typedef int qcow2_run_visitor(void *context, const struct qcow2_run *run, struct error **err);
/* The L2 table, one cluster of bytes, that entry l1_index of the L1 table names. */
int qcow2_l2_decode(const struct qcow2_header *header, uint64_t l1_index, const void *table,
                    qcow2_run_visitor *visit, void *context, struct error **err);

/* How many bytes of the file are the run's: nobody else's may begin there, but for a compressed
 * cluster in the last sector of another. */
uint64_t qcow2_run_span(const struct qcow2_header *header, const struct qcow2_run *run);
/* How many bytes of the file there must be at least from host_offset on. */
uint64_t qcow2_run_need(const struct qcow2_header *header, const struct qcow2_run *run);
/* DATA_LOSS when the run lies outside a file of this size or on its tables. */
int qcow2_run_check(const struct qcow2_header *header, const struct qcow2_run *run,
                    const struct qcow2_metadata *metadata, uint64_t file_size, struct error **err);
/* Of two runs in the order of the file: DATA_LOSS when they overlap. */
int qcow2_run_check_order(const struct qcow2_header *header, const struct qcow2_run *first,
                          const struct qcow2_run *second, struct error **err);
/* Takes the first extent off a run: at most max_bytes of data, which is at least a cluster. False
 * when nothing is left. */
bool qcow2_run_next_extent(const struct qcow2_header *header, struct qcow2_run *run,
                           uint64_t max_bytes, struct qcow2_extent *ret_extent);

#endif
