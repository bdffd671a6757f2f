/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/header_decode.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/memory.h"

static void
decode_snap_ids(struct wire_reader *r, struct header *header)
{
  (void)wire_get_u64(r); /* the newest id ever given out */
  uint32_t count = wire_get_u32(r);
  if (r->failed || count > r->left / sizeof(uint64_t)) {
    r->failed = true;
    return;
  }
  header->snap_ids = xcalloc(count ? count : 1, sizeof(uint64_t));
  for (uint32_t i = 0; i < count; i++)
    header->snap_ids[i] = wire_get_u64(r);
  header->snap_count = count;
}

static void
decode_parent(struct wire_reader *r, struct header *header)
{
  struct wire_reader body;
  wire_get_struct(r, &body);
  header->parent.pool_id = (int64_t)wire_get_u64(&body);
  header->parent.name_space = wire_get_string(&body);
  header->parent.image_id = wire_get_string(&body);
  header->parent.snap_id = wire_get_u64(&body);
  r->failed = r->failed || body.failed;
}

static void
decode_metadata(struct wire_reader *r, struct header *header)
{
  uint32_t count = wire_get_u32(r);
  for (uint32_t i = 0; i < count && !r->failed; i++) {
    CLEANUP(freep) char *key = wire_get_string(r);
    CLEANUP(freep) char *value = wire_get_string(r);
    if (key && value)
      string_map_set(&header->metadata, key, value);
  }
}

int
header_decode(struct wire_reader answers[HEADER_ANSWERS], struct header *ret_header)
{
  struct header header = {0};
  header.order = wire_get_u8(&answers[HEADER_ANSWER_SIZE]);
  header.size_bytes = wire_get_u64(&answers[HEADER_ANSWER_SIZE]);
  header.features = wire_get_u64(&answers[HEADER_ANSWER_FEATURES]);
  decode_snap_ids(&answers[HEADER_ANSWER_SNAPS], &header);
  decode_parent(&answers[HEADER_ANSWER_PARENT], &header);
  decode_metadata(&answers[HEADER_ANSWER_METADATA], &header);
  for (int i = 0; i < HEADER_ANSWERS; i++) {
    if (answers[i].failed) {
      header_clear(&header);
      return -EBADMSG;
    }
  }
  *ret_header = header;
  return 0;
}

static enum snap_kind
decode_snap_kind(struct wire_reader *r)
{
  struct wire_reader body;
  wire_get_struct(r, &body);
  uint32_t kind = wire_get_u32(&body);
  r->failed = r->failed || body.failed;
  return kind < SNAP_KIND_OTHER ? (enum snap_kind)kind : SNAP_KIND_OTHER;
}

int
header_decode_snap(struct wire_reader answer, struct snap *ret_snap)
{
  struct snap snap = {0};
  struct wire_reader body;
  wire_get_struct(&answer, &body);
  snap.id = wire_get_u64(&body);
  snap.kind = decode_snap_kind(&body);
  snap.name = wire_get_string(&body);
  snap.size_bytes = wire_get_u64(&body);
  snap.created_s = wire_get_u32(&body);
  snap.created_ns = wire_get_u32(&body);
  snap.children = wire_get_u32(&body);
  if (body.failed) {
    free(snap.name);
    return -EBADMSG;
  }
  *ret_snap = snap;
  return 0;
}
