/* SPDX-License-Identifier: Apache-2.0 */
/* All that is known at one point of a qcow2 file that is read front to back: qcow2_stream.c and
 * qcow2_pass_*.c move it and save it, qcow2_spool.c hands it over. Nobody else looks inside.
 *
 * The file is at `base`: all before it has been given out, belongs to tables, is held, or turned
 * out to be nobody's. `stage` has what was read from there on. */
#ifndef POPULATOR_FORMAT_QCOW2_PASS_H
#define POPULATOR_FORMAT_QCOW2_PASS_H

#include "lib/base/buffer.h"
#include "populator/format/qcow2_claims.h"
#include "populator/format/qcow2_held.h"
#include "populator/format/qcow2_metadata.h"
#include "populator/format/state.h"

/* In an L1 entry of a pass: its table has been read. Offsets are aligned, so the bit is free. */
#define QCOW2_PASS_READ 1
/* Claims, of tables and of clusters: 96 MiB. */
#define QCOW2_PASS_CLAIMS_MAX ((size_t)4 << 20)
/* Runs that are kept for a refcount table that comes late. */
#define QCOW2_PASS_EARLY_MAX ((size_t)256 << 10)
/* Read beyond what is asked for. */
#define QCOW2_PASS_AHEAD ((size_t)128 << 10)

struct qcow2_pass {
  struct qcow2_header header;
  char *head; /* the bytes of the header, for whoever needs it again */
  size_t head_len;

  uint64_t *l1;                 /* offsets of L2 tables, and QCOW2_PASS_READ */
  uint64_t l1_left;             /* bytes of the L1 table to come */
  size_t tables_left;           /* L2 tables to come, once the L1 table is known */
  uint64_t refcount_table_left; /* bytes of the refcount table to come; 0 where it is not read */
  struct qcow2_metadata metadata;

  struct qcow2_claims claims; /* of what lies at base or behind */
  struct qcow2_claims late;   /* of what is held, in the order in which to take it: no heap */
  size_t late_at;             /* the first of them */
  struct qcow2_claims early;  /* runs that are to be checked against the refcount blocks: no heap */
  struct qcow2_held held;
  size_t held_max;

  uint64_t base;
  uint64_t slack_end; /* what lies before it and is nobody's is slack (see qcow2_held.h) */
  char *stage;
  size_t stage_room, stage_at, stage_len;
  bool is_below_at_end;
};

/* From the first bytes of the file, which become the stage: QCOW2_HEADER_BYTES, or all. */
int qcow2_pass_init(struct qcow2_pass *pass, const void *head, size_t len, struct error **err);
void qcow2_pass_clear(struct qcow2_pass *pass);

/* Whether all tables that map the disk have been read. */
bool qcow2_pass_knows_all(const struct qcow2_pass *pass);
/* How many bytes of the file are the claim's, and how many of these there must be. */
uint64_t qcow2_claim_span(const struct qcow2_pass *pass, const struct qcow2_run *claim);
uint64_t qcow2_claim_need(const struct qcow2_pass *pass, const struct qcow2_run *claim);

int qcow2_pass_save(struct qcow2_pass *pass, struct buffer *state, struct error **err);
/* Into one that is all zeros; to be cleared also on failure. */
int qcow2_pass_restore(struct qcow2_pass *pass, const void *state, size_t len, size_t *ret_used,
                       struct error **err);

#endif
