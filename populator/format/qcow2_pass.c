/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_pass.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

#define SNAPSHOT_BYTES_MIN 40

static void
claim(struct qcow2_pass *pass, enum qcow2_claim_kind kind, uint64_t offset, uint64_t len)
{
  uint64_t cluster_size = pass->header.cluster_size;
  bool is_in_pieces = kind == QCOW2_CLAIM_L1 || kind == QCOW2_CLAIM_REFCOUNT_TABLE;
  uint64_t clusters = (len + cluster_size - 1) / cluster_size;
  struct qcow2_run run = {.host_offset = offset, .kind = kind, .count = clusters & 0xfffffff};
  if (!is_in_pieces) {
    qcow2_claims_push(&pass->claims, &run);
    return;
  }
  run.count = 1;
  for (uint64_t i = 0; i < clusters; i++) {
    run.virtual_offset = i * cluster_size;
    run.host_offset = offset + run.virtual_offset;
    qcow2_claims_push(&pass->claims, &run);
  }
}

int
qcow2_pass_init(struct qcow2_pass *pass, const void *head, size_t len, struct error **err)
{
  struct qcow2_header *header = &pass->header;
  if (qcow2_header_parse(head, len, QCOW2_FILE_SIZE_UNKNOWN, header, err) < 0)
    return -1;
  qcow2_metadata_init(&pass->metadata, header);
  if (qcow2_metadata_seal(&pass->metadata, err) < 0)
    return -1;
  pass->head_len = len < header->cluster_size ? len : header->cluster_size;
  pass->head = xcalloc(1, pass->head_len);
  memcpy(pass->head, head, pass->head_len);
  pass->l1 = xcalloc(header->l1_entries, sizeof(uint64_t));
  pass->l1_left = header->l1_bytes;
  pass->refcount_table_left = header->is_dirty ? 0 : header->refcount_table_bytes;
  claim(pass, QCOW2_CLAIM_HEADER, 0, header->cluster_size);
  claim(pass, QCOW2_CLAIM_L1, header->l1_offset, header->l1_bytes);
  claim(pass, QCOW2_CLAIM_REFCOUNT_TABLE, header->refcount_table_offset,
        header->refcount_table_bytes);
  if (header->snapshot_count > 0)
    claim(pass, QCOW2_CLAIM_SNAPSHOTS, header->snapshots_offset,
          (uint64_t)header->snapshot_count * SNAPSHOT_BYTES_MIN);
  pass->stage_room = header->cluster_size + QCOW2_COMPRESSED_OVERHEAD + QCOW2_PASS_AHEAD;
  pass->stage = malloc(pass->stage_room);
  if (!pass->stage)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "qcow2: no memory");
  memcpy(pass->stage, head, len);
  pass->stage_len = len;
  return 0;
}

void
qcow2_pass_clear(struct qcow2_pass *pass)
{
  qcow2_metadata_clear(&pass->metadata);
  qcow2_claims_clear(&pass->claims);
  qcow2_claims_clear(&pass->late);
  qcow2_claims_clear(&pass->early);
  qcow2_held_clear(&pass->held);
  free(pass->head);
  free(pass->l1);
  free(pass->stage);
  *pass = (struct qcow2_pass){0};
}

bool
qcow2_pass_knows_all(const struct qcow2_pass *pass)
{
  return pass->l1_left == 0 && pass->tables_left == 0;
}

uint64_t
qcow2_claim_span(const struct qcow2_pass *pass, const struct qcow2_run *run)
{
  return qcow2_run_span(&pass->header, run); /* tables are like data */
}

uint64_t
qcow2_claim_need(const struct qcow2_pass *pass, const struct qcow2_run *run)
{
  uint64_t cluster_size = pass->header.cluster_size;
  switch ((enum qcow2_claim_kind)run->kind) {
  case QCOW2_CLAIM_DATA:
  case QCOW2_CLAIM_COMPRESSED:
    return qcow2_run_need(&pass->header, run);
  case QCOW2_CLAIM_HEADER:
    return 0;
  case QCOW2_CLAIM_SNAPSHOTS:
    return (uint64_t)pass->header.snapshot_count * SNAPSHOT_BYTES_MIN;
  case QCOW2_CLAIM_L1: {
    uint64_t left = pass->header.l1_bytes - run->virtual_offset;
    return left < cluster_size ? left : cluster_size;
  }
  default:
    return cluster_size;
  }
}
