/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a qcow2 file that can be read anywhere. Each read may be a request to a server far
 * away, so neighbours are read together. */
#ifndef POPULATOR_FORMAT_QCOW2_FILE_H
#define POPULATOR_FORMAT_QCOW2_FILE_H

#include "populator/format/qcow2_table.h"

struct qcow2_file {
  /* Exactly len bytes from offset on, which lie inside the size. Any number of threads at once. */
  int (*read_at)(void *context, void *buf, size_t len, uint64_t offset, struct error **err);
  void *context;
  uint64_t size;
};

int qcow2_file_header(const struct qcow2_file *file, struct qcow2_header *ret_header,
                      struct error **err);
/* The L1 table as offsets of L2 tables, 0 for none: header->l1_entries of them, to be freed. All
 * lie inside the file. */
int qcow2_file_l1(const struct qcow2_file *file, const struct qcow2_header *header,
                  uint64_t **ret_l1, struct error **err);
/* Everything that is a table, checked for overlaps. Blocks of refcounts are left out where the
 * header says that refcounts may be wrong. */
int qcow2_file_metadata(const struct qcow2_file *file, const struct qcow2_header *header,
                        const uint64_t *l1, struct qcow2_metadata *ret_metadata,
                        struct error **err);
/* Visits the runs of the L2 tables of the L1 entries [first, end), in any order of tables. */
int qcow2_file_l2(const struct qcow2_file *file, const struct qcow2_header *header,
                  const uint64_t *l1, uint64_t first, uint64_t end, qcow2_run_visitor *visit,
                  void *context, struct error **err);

#endif
