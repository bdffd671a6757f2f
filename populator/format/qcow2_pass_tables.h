/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of a qcow2 file say, as they come by: which places of the file somebody will
 * want, and whether these are theirs to want. */
#ifndef POPULATOR_FORMAT_QCOW2_PASS_TABLES_H
#define POPULATOR_FORMAT_QCOW2_PASS_TABLES_H

#include "populator/format/qcow2_pass.h"

/* The part of the L1 table that `run` claims; with the last part, all L2 tables are claimed. */
int qcow2_pass_read_l1(struct qcow2_pass *pass, const struct qcow2_run *run, const char *bytes,
                       struct error **err);
/* One cluster of it. */
int qcow2_pass_read_refcount_table(struct qcow2_pass *pass, const char *bytes, struct error **err);
/* The table of this L1 entry: its clusters are claimed, or are late. */
int qcow2_pass_read_l2(struct qcow2_pass *pass, uint64_t index, const char *bytes,
                       struct error **err);

/* An error. Only after a state was restored that is not one of ours. */
int qcow2_pass_contradicts(struct error **err);

#endif
