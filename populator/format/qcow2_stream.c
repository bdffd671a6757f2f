/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/qcow2_pass_late.h"
#include "populator/format/qcow2_pass_tables.h"

struct qcow2_stream {
  struct stream *below;
  struct qcow2_pass pass;
};

#define DAMAGED(err, ...) error_set(err, ERROR_DATA_LOSS, "qcow2: " __VA_ARGS__)

static int
truncated(const struct qcow2_pass *pass, const struct qcow2_run *claim, struct error **err)
{
  return DAMAGED(err,
                 "the file ends at %" PRIu64 " bytes, but there should be something at 0x%" PRIx64
                 ": it is truncated or damaged",
                 pass->base + pass->stage_len, claim->host_offset);
}

/* ---- the bytes ---------------------------------------------------------------------------------
 */

/* Reads until there are `want` bytes on the stage, or the file ends. */
static int
fill(struct qcow2_stream *stream, size_t want, struct error **err)
{
  struct qcow2_pass *pass = &stream->pass;
  assert(want + QCOW2_PASS_AHEAD <= pass->stage_room);
  while (pass->stage_len < want && !pass->is_below_at_end) {
    size_t len = want - pass->stage_len;
    if (len < QCOW2_PASS_AHEAD)
      len = QCOW2_PASS_AHEAD;
    if (pass->stage_at + pass->stage_len + len > pass->stage_room) {
      memmove(pass->stage, pass->stage + pass->stage_at, pass->stage_len);
      pass->stage_at = 0;
    }
    ssize_t got =
        stream_read(stream->below, pass->stage + pass->stage_at + pass->stage_len, len, err);
    if (got < 0)
      return -1;
    pass->stage_len += (size_t)got;
    pass->is_below_at_end = got == 0;
  }
  return 0;
}

static void
consume(struct qcow2_pass *pass, size_t len)
{
  assert(len <= pass->stage_len);
  pass->base += len;
  pass->stage_at += len;
  pass->stage_len -= len;
  if (pass->stage_len == 0)
    pass->stage_at = 0;
}

/* Passes over bytes that are not needed, as far as there are any. */
static int
skip(struct qcow2_stream *stream, uint64_t len, struct error **err)
{
  struct qcow2_pass *pass = &stream->pass;
  while (len > 0) {
    if (fill(stream, 1, err) < 0)
      return -1;
    if (pass->stage_len == 0)
      return 0;
    size_t part = pass->stage_len < len ? pass->stage_len : len;
    consume(pass, part);
    len -= part;
  }
  return 0;
}

/* Takes exactly len bytes, large pieces straight from below. */
static int
take(struct qcow2_stream *stream, void *buf, size_t len, struct error **err)
{
  struct qcow2_pass *pass = &stream->pass;
  size_t staged = pass->stage_len < len ? pass->stage_len : len;
  memcpy(buf, pass->stage + pass->stage_at, staged);
  consume(pass, staged);
  if (staged == len)
    return 0;
  ssize_t got = pass->is_below_at_end
                    ? 0
                    : stream_read_most(stream->below, (char *)buf + staged, len - staged, err);
  if (got < 0)
    return -1;
  pass->base += (uint64_t)got;
  if (staged + (size_t)got == len)
    return 0;
  return DAMAGED(err, "the file ends at %" PRIu64 " bytes, in the middle of a cluster", pass->base);
}

/* ---- tables ------------------------------------------------------------------------------------
 */

/* A table, at base. It is consumed first: what it names lies before or behind it. */
static int
step_table(struct qcow2_stream *stream, const struct qcow2_run *first, struct error **err)
{
  struct qcow2_pass *pass = &stream->pass;
  struct qcow2_run table = *first;
  uint64_t need = qcow2_claim_need(pass, &table), span = qcow2_claim_span(pass, &table);
  bool is_read = table.kind == QCOW2_CLAIM_L1 || table.kind == QCOW2_CLAIM_L2 ||
                 table.kind == QCOW2_CLAIM_REFCOUNT_TABLE;
  if (table.kind == QCOW2_CLAIM_L2 &&
      pass->claims.count + pass->late.count + pass->header.l2_entries > QCOW2_PASS_CLAIMS_MAX)
    return QCOW2_STREAM_FULL;
  CLEANUP(freep) char *bytes = is_read ? xcalloc(1, pass->header.cluster_size) : NULL;
  if (is_read && fill(stream, need, err) < 0)
    return -1;
  if (is_read && pass->stage_len < need)
    return truncated(pass, &table, err);
  if (is_read)
    memcpy(bytes, pass->stage + pass->stage_at, need);
  qcow2_claims_pop(&pass->claims);
  uint64_t start = pass->base;
  if (skip(stream, span, err) < 0)
    return -1;
  if (pass->base - start < need)
    return truncated(pass, &table, err);
  int r = 0;
  if (table.kind == QCOW2_CLAIM_L1)
    r = qcow2_pass_read_l1(pass, &table, bytes, err);
  else if (table.kind == QCOW2_CLAIM_REFCOUNT_TABLE)
    r = qcow2_pass_read_refcount_table(pass, bytes, err);
  else if (table.kind == QCOW2_CLAIM_L2)
    r = qcow2_pass_read_l2(pass, table.virtual_offset, bytes, err);
  return r < 0 ? -1 : QCOW2_PASS_AGAIN;
}

/* ---- clusters ----------------------------------------------------------------------------------
 */

/* Data, at base: as much of the run as has room. */
static int
step_data(struct qcow2_stream *stream, const struct qcow2_run *first, void *buf, size_t room,
          struct qcow2_extent *ret_extent, struct error **err)
{
  struct qcow2_pass *pass = &stream->pass;
  struct qcow2_run run = *first;
  struct qcow2_extent extent;
  qcow2_claims_pop(&pass->claims);
  if (!qcow2_run_next_extent(&pass->header, &run, room, &extent))
    return qcow2_pass_contradicts(err);
  if (take(stream, buf, extent.length, err) < 0)
    return -1;
  /* the last cluster may be longer than what the disk has of it */
  uint64_t behind = run.host_offset - extent.host_offset - extent.length;
  if (skip(stream, behind, err) < 0)
    return -1;
  if (run.count > 0)
    qcow2_claims_push(&pass->claims, &run);
  *ret_extent = extent;
  return QCOW2_STREAM_EXTENT;
}

/* A cluster of which only some subclusters hold data, at base: one run of these after the other. */
static int
step_subclusters(struct qcow2_stream *stream, const struct qcow2_run *first, void *buf,
                 struct qcow2_extent *ret_extent, struct error **err)
{
  struct qcow2_pass *pass = &stream->pass;
  struct qcow2_run run = *first;
  struct qcow2_extent extent;
  size_t need = qcow2_run_need(&pass->header, &run);
  uint64_t span = qcow2_run_span(&pass->header, &run);
  if (fill(stream, need, err) < 0)
    return -1;
  if (pass->stage_len < need)
    return truncated(pass, &run, err);
  qcow2_claims_pop(&pass->claims);
  if (!qcow2_run_next_extent(&pass->header, &run, QCOW2_CLUSTER_MAX, &extent))
    return skip(stream, span, err) < 0 ? -1 : QCOW2_PASS_AGAIN;
  memcpy(buf, pass->stage + pass->stage_at + (extent.host_offset - pass->base), extent.length);
  qcow2_claims_push(&pass->claims, &run);
  *ret_extent = extent;
  return QCOW2_STREAM_EXTENT;
}

static int
step_compressed(struct qcow2_stream *stream, const struct qcow2_run *first, void *buf,
                struct qcow2_extent *ret_extent, struct error **err)
{
  struct qcow2_pass *pass = &stream->pass;
  struct qcow2_run run = *first;
  struct qcow2_extent extent;
  uint64_t end = run.host_offset + qcow2_run_span(&pass->header, &run);
  uint64_t next = qcow2_slack_start(&run, end);
  qcow2_claims_pop(&pass->claims);
  (void)qcow2_run_next_extent(&pass->header, &run, QCOW2_CLUSTER_MAX, &extent);
  if (fill(stream, extent.host_length, err) < 0)
    return -1;
  if (pass->stage_len == 0)
    return truncated(pass, &run, err);
  if (extent.host_length > pass->stage_len)
    extent.host_length = pass->stage_len; /* the last of the file may not fill its sector */
  memcpy(buf, pass->stage + pass->stage_at, extent.host_length);
  if (skip(stream, next - pass->base, err) < 0)
    return -1;
  pass->slack_end = end;
  *ret_extent = extent;
  return QCOW2_STREAM_EXTENT;
}

/* What nobody claims, up to the next claim: held if somebody may come. */
static int
step_gap(struct qcow2_stream *stream, const struct qcow2_run *next, struct error **err)
{
  struct qcow2_pass *pass = &stream->pass;
  if (fill(stream, 1, err) < 0)
    return -1;
  if (pass->stage_len == 0)
    return truncated(pass, next, err);
  uint64_t gap = next->host_offset - pass->base;
  size_t len = pass->stage_len < gap ? pass->stage_len : gap;
  if (!qcow2_pass_knows_all(pass)) {
    bool is_slack = pass->base < pass->slack_end;
    if (is_slack && len > pass->slack_end - pass->base)
      len = pass->slack_end - pass->base;
    if (!is_slack && pass->held.bytes + len > pass->held_max)
      return QCOW2_STREAM_FULL;
    qcow2_held_add(&pass->held, pass->base, pass->stage + pass->stage_at, len, is_slack);
  }
  consume(pass, len);
  return QCOW2_PASS_AGAIN;
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

/* At the end the streams below check what they have: a checksum, a length. */
static int
drain(struct qcow2_stream *stream, struct error **err)
{
  struct qcow2_pass *pass = &stream->pass;
  while (!pass->is_below_at_end || pass->stage_len > 0) {
    if (fill(stream, 1, err) < 0)
      return -1;
    consume(pass, pass->stage_len);
  }
  return QCOW2_STREAM_END;
}

static int
step(struct qcow2_stream *stream, void *buf, size_t room, struct qcow2_extent *ret_extent,
     struct error **err)
{
  struct qcow2_pass *pass = &stream->pass;
  if (pass->late_at < pass->late.count)
    return qcow2_pass_take_late(pass, buf, room, ret_extent, err);
  if (pass->late.count > 0)
    qcow2_claims_clear(&pass->late);
  pass->late_at = 0;
  if (qcow2_pass_knows_all(pass) && pass->held.count > 0)
    qcow2_held_clear(&pass->held); /* nobody will come for it */
  const struct qcow2_run *first = qcow2_claims_first(&pass->claims);
  if (!first)
    return qcow2_pass_knows_all(pass) ? drain(stream, err) : qcow2_pass_contradicts(err);
  if (first->host_offset > pass->base)
    return step_gap(stream, first, err);
  if (first->host_offset < pass->base)
    return DAMAGED(err, "what lies at 0x%" PRIx64 " overlaps what lies before it",
                   first->host_offset);
  if (first->kind == QCOW2_CLAIM_COMPRESSED)
    return step_compressed(stream, first, buf, ret_extent, err);
  if (first->kind != QCOW2_CLAIM_DATA)
    return step_table(stream, first, err);
  if (first->subclusters != QCOW2_ALL_SUBCLUSTERS)
    return step_subclusters(stream, first, buf, ret_extent, err);
  return step_data(stream, first, buf, room, ret_extent, err);
}

int
qcow2_stream_next(struct qcow2_stream *stream, void *buf, size_t room,
                  struct qcow2_extent *ret_extent, struct error **err)
{
  assert(room >= QCOW2_STREAM_BUFFER_MIN);
  int r;
  do {
    r = step(stream, buf, room, ret_extent, err);
  } while (r == QCOW2_PASS_AGAIN);
  return r;
}

int
qcow2_stream_open(struct stream *below, size_t window, struct qcow2_stream **ret_stream,
                  struct error **err)
{
  CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = xcalloc(1, sizeof(*stream));
  stream->below = below;
  CLEANUP(freep) char *head = xcalloc(1, QCOW2_HEADER_BYTES);
  ssize_t len = stream_read_most(below, head, QCOW2_HEADER_BYTES, err);
  if (len < 0 || qcow2_pass_init(&stream->pass, head, (size_t)len, err) < 0)
    return -1;
  stream->pass.held_max = window;
  *ret_stream = TAKE(stream);
  return 0;
}

void
qcow2_stream_close(struct qcow2_stream *stream)
{
  if (!stream)
    return;
  stream_close(stream->below);
  qcow2_pass_clear(&stream->pass);
  free(stream);
}

const struct qcow2_header *
qcow2_stream_header(const struct qcow2_stream *stream)
{
  return &stream->pass.header;
}

uint64_t
qcow2_stream_position(const struct qcow2_stream *stream)
{
  return stream->pass.base + stream->pass.stage_len;
}

struct stream *
qcow2_stream_below(struct qcow2_stream *stream)
{
  return stream->below;
}

struct stream *
qcow2_stream_take_below(struct qcow2_stream *stream)
{
  return TAKE(stream->below);
}

struct qcow2_pass *
qcow2_stream_pass(struct qcow2_stream *stream)
{
  return &stream->pass;
}

int
qcow2_stream_save(struct qcow2_stream *stream, struct buffer *state, struct error **err)
{
  return qcow2_pass_save(&stream->pass, state, err);
}

int
qcow2_stream_restore(struct stream *below, size_t window, const void *state, size_t len,
                     size_t *ret_used, struct qcow2_stream **ret_stream, struct error **err)
{
  CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = xcalloc(1, sizeof(*stream));
  stream->below = below;
  if (qcow2_pass_restore(&stream->pass, state, len, ret_used, err) < 0)
    return -1;
  stream->pass.held_max = window;
  *ret_stream = TAKE(stream);
  return 0;
}
