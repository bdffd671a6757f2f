/* SPDX-License-Identifier: Apache-2.0 */
/* Who wants which bytes of a qcow2 file that is read front to back: a queue that gives what lies
 * first in the file (a binary heap). Tables are claimed like clusters, so that whatever stands at a
 * place of the file is looked up in one way. Part of one pass; no locking. */
#ifndef POPULATOR_FORMAT_QCOW2_CLAIMS_H
#define POPULATOR_FORMAT_QCOW2_CLAIMS_H

#include "populator/format/qcow2_table.h"

/* What a run's kind may be here. Of tables, `count` is in clusters. */
enum qcow2_claim_kind {
  QCOW2_CLAIM_DATA = QCOW2_DATA,
  QCOW2_CLAIM_COMPRESSED = QCOW2_COMPRESSED,
  QCOW2_CLAIM_HEADER,
  QCOW2_CLAIM_L1,             /* a cluster of it; virtual_offset is that in the table */
  QCOW2_CLAIM_L2,             /* virtual_offset is its index in the L1 table */
  QCOW2_CLAIM_REFCOUNT_TABLE, /* a cluster of it; virtual_offset is that in the table */
  QCOW2_CLAIM_REFCOUNT_BLOCK,
  QCOW2_CLAIM_SNAPSHOTS,
  QCOW2_CLAIM_KINDS,
};

struct qcow2_claims {
  struct qcow2_run *items;
  size_t count, room;
};

void qcow2_claims_clear(struct qcow2_claims *claims);
void qcow2_claims_push(struct qcow2_claims *claims, const struct qcow2_run *claim);
/* The first in the file; NULL when there is none. Valid until the next push or pop. */
const struct qcow2_run *qcow2_claims_first(const struct qcow2_claims *claims);
void qcow2_claims_pop(struct qcow2_claims *claims);
/* Puts the items into the order of the file, which is also that of a heap. */
void qcow2_claims_sort(struct qcow2_claims *claims);

#endif
