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

struct qcow2_tables {
  struct qcow2_header header;
  uint64_t *l1; /* header.l1_entries offsets of L2 tables, which lie inside the file; 0: none */
  /* Everything that is a table. Blocks of refcounts are left out where the header says that
   * refcounts may be wrong. */
  struct qcow2_metadata metadata;
};

/* Reads all but the L2 tables, and checks them for overlaps. */
int qcow2_file_tables(const struct qcow2_file *file, struct qcow2_tables *ret_tables,
                      struct error **err);
void qcow2_tables_clear(struct qcow2_tables *tables);

/* Visits the runs of the L2 tables of the L1 entries [first, end), in any order of tables. */
int qcow2_file_l2(const struct qcow2_file *file, const struct qcow2_tables *tables, uint64_t first,
                  uint64_t end, qcow2_run_visitor *visit, void *context, struct error **err);

#endif
