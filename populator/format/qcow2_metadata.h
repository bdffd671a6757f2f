/* SPDX-License-Identifier: Apache-2.0 */
/* Which clusters of a qcow2 file hold its header and tables, so that nothing else claims them.
 *
 * There can be millions of tables where clusters are small, so those of one cluster take 8 bytes
 * each. Whoever adds must not share it meanwhile; once sealed any number of threads may look. */
#ifndef POPULATOR_FORMAT_QCOW2_METADATA_H
#define POPULATOR_FORMAT_QCOW2_METADATA_H

#include "populator/format/qcow2_header.h"

enum qcow2_part {
  QCOW2_PART_HEADER,
  QCOW2_PART_L1,
  QCOW2_PART_L2,
  QCOW2_PART_REFCOUNT_TABLE,
  QCOW2_PART_REFCOUNT_BLOCK,
  QCOW2_PART_SNAPSHOTS,
};

#define QCOW2_METADATA_TABLES 4 /* of more than one cluster */

struct qcow2_metadata {
  uint64_t cluster_size;
  struct {
    uint64_t offset, len;
    enum qcow2_part part;
  } tables[QCOW2_METADATA_TABLES];
  size_t table_count;
  uint64_t *clusters; /* offset, and the part in the bits below the alignment */
  size_t cluster_count, cluster_room;
};

/* Knows the header and what the header names. */
void qcow2_metadata_init(struct qcow2_metadata *metadata, const struct qcow2_header *header);
void qcow2_metadata_clear(struct qcow2_metadata *metadata);

/* A table of one cluster; its offset is aligned. */
void qcow2_metadata_add(struct qcow2_metadata *metadata, uint64_t offset, enum qcow2_part part);
/* What was added, by its index in `clusters`. */
enum qcow2_part qcow2_metadata_part(const struct qcow2_metadata *metadata, size_t index);
uint64_t qcow2_metadata_offset(const struct qcow2_metadata *metadata, size_t index);
/* After the last that was added; more can be added later, and sealed again. DATA_LOSS when any two
 * overlap. */
int qcow2_metadata_seal(struct qcow2_metadata *metadata, struct error **err);
/* DATA_LOSS when these bytes of the file are a table's; `what` claims them. */
int qcow2_metadata_check(const struct qcow2_metadata *metadata, uint64_t offset, uint64_t len,
                         const char *what, struct error **err);

#endif
