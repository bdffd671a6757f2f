/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_pass_late.h"

#include <inttypes.h>

#include "lib/base/memory.h"
#include "populator/format/qcow2_pass_tables.h"

#define DAMAGED(err, ...) error_set(err, ERROR_DATA_LOSS, "qcow2: " __VA_ARGS__)

uint64_t
qcow2_slack_start(const struct qcow2_run *run, uint64_t end)
{
  uint64_t start = end - (QCOW2_SECTOR - 1);
  return start > run->host_offset ? start : run->host_offset + 1;
}

static int
not_held(const struct qcow2_run *run, struct error **err)
{
  return DAMAGED(err,
                 "what lies at 0x%" PRIx64 " is mapped twice, or by a table that stands too far "
                 "behind it for a file that is read once",
                 run->host_offset);
}

static int
late_table(struct qcow2_pass *pass, const struct qcow2_run *table, struct error **err)
{
  size_t len = pass->header.cluster_size;
  struct qcow2_run run = *table;
  if (pass->claims.count + pass->late.count + pass->header.l2_entries > QCOW2_PASS_CLAIMS_MAX)
    return QCOW2_STREAM_FULL;
  CLEANUP(freep) char *bytes = xcalloc(1, len);
  if (qcow2_held_read(&pass->held, run.host_offset, bytes, len) < len)
    return not_held(&run, err);
  qcow2_held_remove(&pass->held, run.host_offset, len);
  pass->late_at++;
  return qcow2_pass_read_l2(pass, run.virtual_offset, bytes, err) < 0 ? -1 : QCOW2_PASS_AGAIN;
}

static int
late_cluster(struct qcow2_pass *pass, struct qcow2_run *run, void *buf, size_t room,
             struct qcow2_extent *ret_extent, struct error **err)
{
  struct qcow2_run before = *run;
  uint64_t span = qcow2_run_span(&pass->header, run);
  bool is_compressed = run->kind == QCOW2_COMPRESSED;
  bool is_partial = !is_compressed && run->subclusters != QCOW2_ALL_SUBCLUSTERS;
  struct qcow2_extent extent;
  if (!qcow2_run_next_extent(&pass->header, run, room, &extent)) {
    qcow2_held_remove(&pass->held, before.host_offset, span);
    pass->late_at++;
    return QCOW2_PASS_AGAIN;
  }
  size_t got = qcow2_held_read(&pass->held, extent.host_offset, buf, extent.host_length);
  /* the last sector of a compressed cluster may already be another's */
  size_t slack = is_compressed ? QCOW2_SECTOR - 1 : 0;
  if (got == 0 || got + slack < extent.host_length)
    return not_held(&before, err);
  extent.host_length = got;
  if (is_compressed) {
    uint64_t next = qcow2_slack_start(&before, before.host_offset + span);
    qcow2_held_remove(&pass->held, before.host_offset, next - before.host_offset);
  } else if (!is_partial) {
    qcow2_held_remove(&pass->held, before.host_offset, run->host_offset - before.host_offset);
  }
  if (run->count == 0)
    pass->late_at++;
  *ret_extent = extent;
  return QCOW2_STREAM_EXTENT;
}

int
qcow2_pass_take_late(struct qcow2_pass *pass, void *buf, size_t room,
                     struct qcow2_extent *ret_extent, struct error **err)
{
  struct qcow2_run *run = &pass->late.items[pass->late_at];
  if (run->kind == QCOW2_CLAIM_L2)
    return late_table(pass, run, err);
  return late_cluster(pass, run, buf, room, ret_extent, err);
}
