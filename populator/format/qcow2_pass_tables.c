/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_pass_tables.h"

#include <inttypes.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"

#define DAMAGED(err, ...) error_set(err, ERROR_DATA_LOSS, "qcow2: " __VA_ARGS__)

int
qcow2_pass_contradicts(struct error **err)
{
  return DAMAGED(err, "saved state: contradicts itself");
}

/* A claim of what lies behind or before the place where the file is now. */
static int
claim(struct qcow2_pass *pass, const struct qcow2_run *run, struct error **err)
{
  if (run->host_offset >= pass->base) {
    qcow2_claims_push(&pass->claims, run);
    return 0;
  }
  if (run->host_offset + qcow2_claim_span(pass, run) > pass->base)
    return DAMAGED(err, "what lies at 0x%" PRIx64 " overlaps a table", run->host_offset);
  if (pass->late.count == pass->late.room) {
    pass->late.room = pass->late.room < 64 ? 64 : pass->late.room + pass->late.room / 2;
    pass->late.items = xrealloc(pass->late.items, pass->late.room, sizeof(*run));
  }
  pass->late.items[pass->late.count++] = *run;
  return 0;
}

static int
claim_run(void *context, const struct qcow2_run *run, struct error **err)
{
  struct qcow2_pass *pass = context;
  if (qcow2_run_check(&pass->header, run, &pass->metadata, QCOW2_FILE_SIZE_UNKNOWN, err) < 0)
    return -1;
  struct qcow2_claims *early = &pass->early;
  if (pass->refcount_table_left > 0 && early->count < QCOW2_PASS_EARLY_MAX) {
    if (early->count == early->room) {
      early->room = early->room < 64 ? 64 : 2 * early->room;
      early->items = xrealloc(early->items, early->room, sizeof(*run));
    }
    early->items[early->count++] = *run;
  }
  return claim(pass, run, err);
}

/* The L1 table is whole: its L2 tables are claimed. */
static int
claim_l2_tables(struct qcow2_pass *pass, struct error **err)
{
  for (uint64_t i = 0; i < pass->header.l1_entries; i++) {
    if (pass->l1[i] == 0)
      continue;
    qcow2_metadata_add(&pass->metadata, pass->l1[i], QCOW2_PART_L2);
    pass->tables_left++;
  }
  if (qcow2_metadata_seal(&pass->metadata, err) < 0)
    return -1;
  for (uint64_t i = 0; i < pass->header.l1_entries; i++) {
    struct qcow2_run run = {
        .host_offset = pass->l1[i], .virtual_offset = i, .kind = QCOW2_CLAIM_L2, .count = 1};
    if (pass->l1[i] != 0 && claim(pass, &run, err) < 0)
      return -1;
  }
  return 0;
}

int
qcow2_pass_read_l1(struct qcow2_pass *pass, const struct qcow2_run *run, const char *bytes,
                   struct error **err)
{
  uint64_t need = qcow2_claim_need(pass, run);
  uint64_t index = run->virtual_offset / 8;
  for (uint64_t at = 0; at < need && index < pass->header.l1_entries; at += 8, index++) {
    if (qcow2_l1_entry(&pass->header, bytes_be64(bytes + at), &pass->l1[index], err) < 0)
      return -1;
  }
  if (need > pass->l1_left)
    return qcow2_pass_contradicts(err);
  pass->l1_left -= need;
  return pass->l1_left == 0 ? claim_l2_tables(pass, err) : 0;
}

/* All refcount blocks are known: what was claimed before is held against them. */
static int
check_early(struct qcow2_pass *pass, struct error **err)
{
  if (qcow2_metadata_seal(&pass->metadata, err) < 0)
    return -1;
  for (size_t i = 0; i < pass->early.count; i++) {
    if (qcow2_run_check(&pass->header, &pass->early.items[i], &pass->metadata,
                        QCOW2_FILE_SIZE_UNKNOWN, err) < 0)
      return -1;
  }
  qcow2_claims_clear(&pass->early);
  return 0;
}

int
qcow2_pass_read_refcount_table(struct qcow2_pass *pass, const char *bytes, struct error **err)
{
  if (pass->refcount_table_left == 0)
    return 0; /* refcounts may be wrong */
  for (uint64_t at = 0; at < pass->header.cluster_size; at += 8) {
    struct qcow2_run run = {.kind = QCOW2_CLAIM_REFCOUNT_BLOCK, .count = 1};
    if (qcow2_refcount_table_entry(&pass->header, bytes_be64(bytes + at), &run.host_offset, err) <
        0)
      return -1;
    if (run.host_offset == 0)
      continue;
    qcow2_metadata_add(&pass->metadata, run.host_offset, QCOW2_PART_REFCOUNT_BLOCK);
    if (run.host_offset >= pass->base)
      qcow2_claims_push(&pass->claims, &run);
  }
  pass->refcount_table_left -= pass->header.cluster_size;
  return pass->refcount_table_left == 0 ? check_early(pass, err) : 0;
}

int
qcow2_pass_read_l2(struct qcow2_pass *pass, uint64_t index, const char *bytes, struct error **err)
{
  if (index >= pass->header.l1_entries || pass->l1[index] & QCOW2_PASS_READ ||
      pass->tables_left == 0)
    return qcow2_pass_contradicts(err);
  if (qcow2_l2_decode(&pass->header, index, bytes, claim_run, pass, err) < 0)
    return -1;
  pass->l1[index] |= QCOW2_PASS_READ;
  pass->tables_left--;
  return 0;
}
