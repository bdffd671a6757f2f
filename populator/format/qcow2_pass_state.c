/* SPDX-License-Identifier: Apache-2.0 */
/* Saves and restores a pass. Numbers that grow slowly are written as differences, so that a state
 * of a few thousand claims has a few tens of kB. What is restored is held to all that the code
 * relies on for its memory; a state that lies about the rest leads to a wrong disk or an error. */
#include "populator/format/qcow2_pass.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/qcow2_stream.h"

#define FORM 0x31716369 /* "icq1" */
/* Held bytes, tables and claims, with room to spare. */
#define STATE_MAX ((size_t)256 << 20)
#define HOST_OFFSET_MAX ((uint64_t)1 << 62)

/* ---- saving ------------------------------------------------------------------------------------
 */

/* Differences may be negative: the sign goes into the lowest bit. */
static void
put_difference(struct buffer *body, uint64_t value, uint64_t *previous)
{
  int64_t difference = (int64_t)(value - *previous);
  state_put_number(body, (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63));
  *previous = value;
}

static uint64_t
get_difference(struct state_reader *reader, uint64_t *previous)
{
  uint64_t coded = state_get_number(reader);
  *previous += coded >> 1 ^ -(coded & 1);
  return *previous;
}

/* From the index on. Column by column: each compresses better alone. */
static void
save_claims(struct buffer *body, const struct qcow2_claims *claims, size_t from)
{
  const struct qcow2_run *items = claims->items;
  size_t count = claims->count;
  uint64_t previous = 0;
  state_put_number(body, count - from);
  for (size_t i = from; i < count; i++)
    put_difference(body, items[i].host_offset, &previous);
  previous = 0;
  for (size_t i = from; i < count; i++)
    put_difference(body, items[i].virtual_offset, &previous);
  for (size_t i = from; i < count; i++)
    state_put_number(body, (uint64_t)items[i].count << 4 | items[i].kind);
  for (size_t i = from; i < count; i++)
    state_put_number(body, ~items[i].subclusters);
}

static void
save_tables(struct buffer *body, const struct qcow2_pass *pass)
{
  uint64_t previous = 0;
  state_put_number(body, pass->l1_left);
  for (uint64_t i = 0; i < pass->header.l1_entries; i++)
    put_difference(body, pass->l1[i], &previous);
  state_put_number(body, pass->refcount_table_left);
  size_t blocks = 0;
  for (size_t i = 0; i < pass->metadata.cluster_count; i++)
    blocks += qcow2_metadata_part(&pass->metadata, i) == QCOW2_PART_REFCOUNT_BLOCK;
  state_put_number(body, blocks);
  previous = 0;
  for (size_t i = 0; i < pass->metadata.cluster_count; i++) {
    if (qcow2_metadata_part(&pass->metadata, i) == QCOW2_PART_REFCOUNT_BLOCK)
      put_difference(body, qcow2_metadata_offset(&pass->metadata, i), &previous);
  }
}

static void
save_held(struct buffer *body, const struct qcow2_held *held)
{
  uint64_t previous = 0;
  state_put_number(body, held->count - held->gone);
  for (size_t i = 0; i < held->count; i++) {
    const struct qcow2_segment *segment = &held->segments[i];
    if (segment->len == 0)
      continue;
    put_difference(body, segment->offset, &previous);
    state_put_number(body, segment->is_slack);
    state_put_bytes(body, segment->memory + segment->start, segment->len);
  }
}

int
qcow2_pass_save(struct qcow2_pass *pass, struct buffer *state, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer body = {0};
  if (pass->held.bytes > QCOW2_STREAM_SAVED_MAX)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "qcow2: %zu bytes are held for a later table",
                     pass->held.bytes);
  state_put_bytes(&body, pass->head, pass->head_len);
  save_tables(&body, pass);
  qcow2_claims_sort(&pass->claims);
  save_claims(&body, &pass->claims, 0);
  save_claims(&body, &pass->late, pass->late_at);
  save_claims(&body, &pass->early, 0);
  save_held(&body, &pass->held);
  state_put_number(&body, pass->base);
  state_put_number(&body, pass->slack_end);
  state_put_number(&body, pass->is_below_at_end);
  state_put_bytes(&body, pass->stage + pass->stage_at, pass->stage_len);
  return state_seal(FORM, &body, state, err);
}

/* ---- restoring ---------------------------------------------------------------------------------
 */

static int
damaged(struct error **err)
{
  return error_set(err, ERROR_DATA_LOSS, "qcow2: saved state: damaged");
}

static bool
is_sound_run(const struct qcow2_header *header, const struct qcow2_run *run)
{
  if (run->count == 0 || run->virtual_offset >= header->virtual_size ||
      run->virtual_offset % header->cluster_size != 0)
    return false;
  if (run->kind == QCOW2_CLAIM_COMPRESSED)
    return run->count <= header->cluster_size >> 8;
  return run->host_offset % header->cluster_size == 0 &&
         (run->subclusters == QCOW2_ALL_SUBCLUSTERS || run->count == 1) &&
         (run->count - 1) * header->cluster_size < header->virtual_size - run->virtual_offset;
}

static bool
is_sound_claim(const struct qcow2_pass *pass, const struct qcow2_run *run)
{
  const struct qcow2_header *header = &pass->header;
  if (run->host_offset > HOST_OFFSET_MAX)
    return false;
  switch ((enum qcow2_claim_kind)run->kind) {
  case QCOW2_CLAIM_DATA:
  case QCOW2_CLAIM_COMPRESSED:
    return is_sound_run(header, run);
  case QCOW2_CLAIM_L1:
    return run->count == 1 && run->virtual_offset < header->l1_bytes &&
           run->virtual_offset % header->cluster_size == 0;
  case QCOW2_CLAIM_L2:
    return run->count == 1 && run->virtual_offset < header->l1_entries;
  case QCOW2_CLAIM_REFCOUNT_TABLE:
  case QCOW2_CLAIM_REFCOUNT_BLOCK:
    return run->count == 1;
  case QCOW2_CLAIM_HEADER:
  case QCOW2_CLAIM_SNAPSHOTS:
    return run->count > 0;
  default:
    return false;
  }
}

/* Kinds that may be in the list are bits of `kinds`. */
static void
restore_claims(struct qcow2_pass *pass, struct state_reader *reader, unsigned kinds,
               struct qcow2_claims *claims)
{
  /* each takes four bytes at least */
  size_t count = state_get_number_up_to(reader, reader->left / 4);
  if (count == 0 || reader->failed)
    return;
  struct qcow2_run *items = xcalloc(count, sizeof(*items));
  *claims = (struct qcow2_claims){.items = items, .count = count, .room = count};
  uint64_t previous = 0;
  for (size_t i = 0; i < count; i++)
    items[i].host_offset = get_difference(reader, &previous);
  previous = 0;
  for (size_t i = 0; i < count; i++)
    items[i].virtual_offset = get_difference(reader, &previous);
  for (size_t i = 0; i < count; i++) {
    uint64_t coded = state_get_number_up_to(reader, UINT32_MAX);
    items[i].count = (uint32_t)(coded >> 4) & 0xfffffff;
    items[i].kind = coded & 0xf;
  }
  for (size_t i = 0; i < count; i++)
    items[i].subclusters = ~(uint32_t)state_get_number_up_to(reader, UINT32_MAX);
  for (size_t i = 0; i < count; i++) {
    if (!((kinds >> items[i].kind) & 1) || !is_sound_claim(pass, &items[i]))
      reader->failed = true;
  }
}

static int
restore_tables(struct qcow2_pass *pass, struct state_reader *reader, struct error **err)
{
  const struct qcow2_header *header = &pass->header;
  uint64_t previous = 0, offset;
  pass->l1_left = state_get_number_up_to(reader, header->l1_bytes);
  pass->tables_left = 0;
  for (uint64_t i = 0; i < header->l1_entries; i++) {
    uint64_t entry = get_difference(reader, &previous);
    if (qcow2_l1_entry(header, entry & ~(uint64_t)QCOW2_PASS_READ, &offset, err) < 0)
      return error_wrap(err, "saved state");
    pass->l1[i] = entry;
    if (pass->l1_left > 0 || offset == 0)
      continue;
    qcow2_metadata_add(&pass->metadata, offset, QCOW2_PART_L2);
    pass->tables_left += !(entry & QCOW2_PASS_READ);
  }
  uint64_t table_left = state_get_number_up_to(reader, header->refcount_table_bytes);
  if (table_left % header->cluster_size != 0 || table_left > pass->refcount_table_left)
    return damaged(err);
  pass->refcount_table_left = table_left;
  uint64_t blocks = state_get_number_up_to(reader, header->refcount_table_bytes / 8);
  previous = 0;
  for (uint64_t i = 0; i < blocks && !reader->failed; i++) {
    if (qcow2_refcount_table_entry(header, get_difference(reader, &previous), &offset, err) < 0)
      return error_wrap(err, "saved state");
    qcow2_metadata_add(&pass->metadata, offset, QCOW2_PART_REFCOUNT_BLOCK);
  }
  return reader->failed ? damaged(err) : qcow2_metadata_seal(&pass->metadata, err);
}

static void
restore_held(struct qcow2_pass *pass, struct state_reader *reader)
{
  size_t count = state_get_number_up_to(reader, reader->left / 3);
  uint64_t previous = 0, end = 0;
  for (size_t i = 0; i < count && !reader->failed; i++) {
    size_t len = 0;
    uint64_t offset = get_difference(reader, &previous);
    bool is_slack = state_get_number_up_to(reader, 1) != 0;
    const void *bytes = state_get_bytes(reader, QCOW2_SEGMENT_MAX, &len);
    if (offset < end || offset > HOST_OFFSET_MAX || len == 0)
      reader->failed = true;
    if (reader->failed)
      return;
    qcow2_held_add(&pass->held, offset, bytes, len, is_slack);
    end = offset + len;
  }
}

static int
restore(struct qcow2_pass *pass, struct state_reader *reader, struct error **err)
{
  size_t head_len = 0, stage_len = 0;
  const void *head = state_get_bytes(reader, QCOW2_HEADER_BYTES, &head_len);
  if (!head)
    return damaged(err);
  if (qcow2_pass_init(pass, head, head_len, err) < 0)
    return error_wrap(err, "saved state");
  qcow2_claims_clear(&pass->claims);
  /* an entry has a byte at least, so a short state cannot make a long table */
  if (pass->header.l1_entries > reader->left)
    return damaged(err);
  if (restore_tables(pass, reader, err) < 0)
    return -1;
  const unsigned clusters = 1 << QCOW2_CLAIM_DATA | 1 << QCOW2_CLAIM_COMPRESSED;
  restore_claims(pass, reader, (1 << QCOW2_CLAIM_KINDS) - 1, &pass->claims);
  restore_claims(pass, reader, clusters | 1 << QCOW2_CLAIM_L2, &pass->late);
  restore_claims(pass, reader, clusters, &pass->early);
  restore_held(pass, reader);
  pass->base = state_get_number_up_to(reader, HOST_OFFSET_MAX);
  pass->slack_end = state_get_number_up_to(reader, HOST_OFFSET_MAX);
  pass->is_below_at_end = state_get_number_up_to(reader, 1) != 0;
  const void *stage = state_get_bytes(reader, pass->stage_room, &stage_len);
  if (reader->failed || reader->left > 0)
    return damaged(err);
  memcpy(pass->stage, stage, stage_len);
  pass->stage_len = stage_len;
  qcow2_claims_sort(&pass->claims);
  return 0;
}

int
qcow2_pass_restore(struct qcow2_pass *pass, const void *state, size_t len, size_t *ret_used,
                   struct error **err)
{
  CLEANUP(buffer_clear) struct buffer body = {0};
  size_t used;
  if (state_unseal(FORM, state, len, STATE_MAX, &body, &used, err) < 0)
    return error_wrap(err, "qcow2");
  struct state_reader reader = {.at = (const unsigned char *)body.data, .left = body.len};
  if (restore(pass, &reader, err) < 0)
    return -1;
  *ret_used = used;
  return 0;
}
