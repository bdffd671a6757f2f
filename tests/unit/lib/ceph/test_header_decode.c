/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/header_decode.h"

#include <errno.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

/* The body that was written since `start`, made a versioned structure. */
static void
end_struct(struct wire_writer *w, const struct wire_writer *body)
{
  wire_put_u8(w, 1);
  wire_put_u8(w, 1);
  wire_put_u32(w, (uint32_t)body->len);
  for (size_t i = 0; i < body->len; i++)
    wire_put_u8(w, (uint8_t)body->data[i]);
}

static void
write_parent(struct wire_writer *w, int64_t pool_id)
{
  struct wire_writer body = {0};
  wire_put_u64(&body, (uint64_t)pool_id);
  wire_put_string(&body, pool_id < 0 ? "" : "tenant");
  wire_put_string(&body, pool_id < 0 ? "" : "10f4");
  wire_put_u64(&body, pool_id < 0 ? UINT64_MAX - 1 : 12);
  end_struct(w, &body);
  wire_writer_clear(&body);
}

/* What the class answers for an image of 1 GiB with two snapshots, a parent and two keys. */
static void
write_answers(struct wire_writer w[HEADER_ANSWERS])
{
  memset(w, 0, HEADER_ANSWERS * sizeof(w[0]));
  wire_put_u8(&w[HEADER_ANSWER_SIZE], 22);
  wire_put_u64(&w[HEADER_ANSWER_SIZE], 1ULL << 30);
  wire_put_u64(&w[HEADER_ANSWER_FEATURES], 61);
  wire_put_u64(&w[HEADER_ANSWER_FEATURES], 1); /* those it cannot do without */
  wire_put_u64(&w[HEADER_ANSWER_SNAPS], 9);
  wire_put_u32(&w[HEADER_ANSWER_SNAPS], 2);
  wire_put_u64(&w[HEADER_ANSWER_SNAPS], 9);
  wire_put_u64(&w[HEADER_ANSWER_SNAPS], 4);
  write_parent(&w[HEADER_ANSWER_PARENT], 3);
  wire_put_u32(&w[HEADER_ANSWER_METADATA], 2);
  wire_put_string(&w[HEADER_ANSWER_METADATA], "imprint.name");
  wire_put_string(&w[HEADER_ANSWER_METADATA], "pvc-1");
  wire_put_string(&w[HEADER_ANSWER_METADATA], "imprint.ready");
  wire_put_string(&w[HEADER_ANSWER_METADATA], "10f5");
}

static void
clear_answers(struct wire_writer w[HEADER_ANSWERS])
{
  for (int i = 0; i < HEADER_ANSWERS; i++)
    wire_writer_clear(&w[i]);
}

static int
decode(const struct wire_writer w[HEADER_ANSWERS], struct header *ret_header)
{
  struct wire_reader answers[HEADER_ANSWERS];
  for (int i = 0; i < HEADER_ANSWERS; i++)
    answers[i] = (struct wire_reader){.at = w[i].data, .left = w[i].len, .failed = !w[i].data};
  return header_decode(answers, ret_header);
}

static void
test_a_header_is_decoded(void)
{
  struct wire_writer w[HEADER_ANSWERS];
  struct header header;
  write_answers(w);
  REQUIRE(decode(w, &header) == 0);
  CHECK_NUMBER(header.size_bytes, 1LL << 30);
  CHECK_NUMBER(header.order, 22);
  CHECK_NUMBER(header.features, 61);
  REQUIRE(header.snap_count == 2);
  CHECK_NUMBER(header.snap_ids[0], 9);
  CHECK_NUMBER(header.snap_ids[1], 4);
  CHECK_NUMBER(header.parent.pool_id, 3);
  CHECK_STRING(header.parent.name_space, "tenant");
  CHECK_STRING(header.parent.image_id, "10f4");
  CHECK_NUMBER(header.parent.snap_id, 12);
  CHECK_NUMBER(header.metadata.count, 2);
  CHECK_STRING(string_map_get(&header.metadata, "imprint.name"), "pvc-1");
  CHECK_STRING(string_map_get(&header.metadata, "imprint.ready"), "10f5");
  header_clear(&header);
  CHECK_NUMBER(header.parent.pool_id, -1);
  header_clear(&header);
  clear_answers(w);
}

static void
test_a_bare_image_is_decoded(void)
{
  struct wire_writer w[HEADER_ANSWERS] = {0};
  struct header header;
  wire_put_u8(&w[HEADER_ANSWER_SIZE], 22);
  wire_put_u64(&w[HEADER_ANSWER_SIZE], 0);
  wire_put_u64(&w[HEADER_ANSWER_FEATURES], 1);
  wire_put_u64(&w[HEADER_ANSWER_SNAPS], 0);
  wire_put_u32(&w[HEADER_ANSWER_SNAPS], 0);
  write_parent(&w[HEADER_ANSWER_PARENT], -1);
  wire_put_u32(&w[HEADER_ANSWER_METADATA], 0);
  REQUIRE(decode(w, &header) == 0);
  CHECK_NUMBER(header.size_bytes, 0);
  CHECK_NUMBER(header.snap_count, 0);
  CHECK_NUMBER(header.parent.pool_id, -1);
  CHECK_NUMBER(header.metadata.count, 0);
  header_clear(&header);
  clear_answers(w);
}

/* How much of each answer is needed: the rest of features is of no use to us. */
static size_t
needed(int answer, size_t len)
{
  return answer == HEADER_ANSWER_FEATURES ? sizeof(uint64_t) : len;
}

static void
test_an_answer_cut_at_any_byte_is_refused(void)
{
  for (int cut = 0; cut < HEADER_ANSWERS; cut++) {
    struct wire_writer w[HEADER_ANSWERS];
    write_answers(w);
    size_t need = needed(cut, w[cut].len);
    for (w[cut].len = 0; w[cut].len < need; w[cut].len++) {
      struct header header = {.order = 42};
      CHECK_NUMBER(decode(w, &header), -EBADMSG);
      CHECK_NUMBER(header.order, 42);
    }
    clear_answers(w);
  }
}

static void
test_a_missing_answer_is_refused(void)
{
  for (int missing = 0; missing < HEADER_ANSWERS; missing++) {
    struct wire_writer w[HEADER_ANSWERS];
    write_answers(w);
    wire_writer_clear(&w[missing]);
    struct header header;
    CHECK_NUMBER(decode(w, &header), -EBADMSG);
    clear_answers(w);
  }
}

static void
test_what_a_newer_release_adds_is_passed_over(void)
{
  struct wire_writer w[HEADER_ANSWERS];
  write_answers(w);
  for (int i = 0; i < HEADER_ANSWERS; i++)
    wire_put_u64(&w[i], UINT64_MAX);
  struct header header;
  REQUIRE(decode(w, &header) == 0);
  CHECK_NUMBER(header.snap_count, 2);
  CHECK_NUMBER(header.metadata.count, 2);
  header_clear(&header);
  clear_answers(w);
}

/* A count alone must not make us allocate: it is held against what is there. */
static void
test_counts_that_do_not_add_up_are_refused(void)
{
  static const uint32_t counts[] = {3, 1000, 0x20000000, 0x20000001, UINT32_MAX};
  for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
    struct wire_writer w[HEADER_ANSWERS];
    struct header header;
    write_answers(w);
    wire_writer_clear(&w[HEADER_ANSWER_SNAPS]);
    wire_put_u64(&w[HEADER_ANSWER_SNAPS], 9);
    wire_put_u32(&w[HEADER_ANSWER_SNAPS], counts[i]);
    wire_put_u64(&w[HEADER_ANSWER_SNAPS], 9);
    wire_put_u64(&w[HEADER_ANSWER_SNAPS], 4);
    CHECK_NUMBER(decode(w, &header), -EBADMSG);
    clear_answers(w);

    write_answers(w);
    wire_writer_clear(&w[HEADER_ANSWER_METADATA]);
    wire_put_u32(&w[HEADER_ANSWER_METADATA], counts[i]);
    wire_put_string(&w[HEADER_ANSWER_METADATA], "key");
    wire_put_string(&w[HEADER_ANSWER_METADATA], "value");
    CHECK_NUMBER(decode(w, &header), -EBADMSG);
    clear_answers(w);
  }
}

/* The structure ends early, the answer does not: what stands behind is not the parent's. */
static void
test_a_parent_whose_structure_is_too_short_is_refused(void)
{
  struct wire_writer w[HEADER_ANSWERS];
  write_answers(w);
  size_t whole = w[HEADER_ANSWER_PARENT].len - 6;
  for (size_t len = 0; len < whole; len++) {
    for (int i = 0; i < 4; i++)
      w[HEADER_ANSWER_PARENT].data[2 + i] = (char)(len >> (8 * i));
    struct header header;
    CHECK_NUMBER(decode(w, &header), -EBADMSG);
  }
  clear_answers(w);
}

static void
write_snap(struct wire_writer *w, uint32_t kind, size_t extra)
{
  struct wire_writer body = {0}, space = {0};
  wire_put_u64(&body, 4);
  wire_put_u32(&space, kind);
  for (size_t i = 0; i < extra; i++)
    wire_put_u64(&space, UINT64_MAX); /* what a group or trash snapshot has of its own */
  end_struct(&body, &space);
  wire_put_string(&body, "imprint.s.x");
  wire_put_u64(&body, 1ULL << 30);
  wire_put_u32(&body, 1700000000);
  wire_put_u32(&body, 999999999);
  wire_put_u32(&body, 3);
  end_struct(w, &body);
  wire_writer_clear(&body);
  wire_writer_clear(&space);
}

static int
decode_snap(const struct wire_writer *w, struct snap *ret_snap)
{
  return header_decode_snap((struct wire_reader){.at = w->data, .left = w->len}, ret_snap);
}

static void
test_a_snapshot_is_decoded(void)
{
  static const struct {
    uint32_t kind;
    enum snap_kind decoded;
  } rows[] = {{0, SNAP_KIND_USER},
              {1, SNAP_KIND_GROUP},
              {2, SNAP_KIND_TRASH},
              {3, SNAP_KIND_OTHER},
              {UINT32_MAX, SNAP_KIND_OTHER}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct wire_writer w = {0};
    struct snap snap;
    write_snap(&w, rows[i].kind, i);
    REQUIRE(decode_snap(&w, &snap) == 0);
    CHECK_NUMBER(snap.id, 4);
    CHECK_NUMBER(snap.kind, rows[i].decoded);
    CHECK_STRING(snap.name, "imprint.s.x");
    CHECK_NUMBER(snap.size_bytes, 1LL << 30);
    CHECK_NUMBER(snap.created_s, 1700000000);
    CHECK_NUMBER(snap.created_ns, 999999999);
    CHECK_NUMBER(snap.children, 3);
    free(snap.name);
    wire_writer_clear(&w);
  }
}

static void
test_a_snapshot_cut_at_any_byte_is_refused(void)
{
  struct wire_writer w = {0};
  write_snap(&w, 0, 0);
  size_t whole = w.len;
  for (w.len = 0; w.len < whole; w.len++) {
    struct snap snap = {.id = 42};
    CHECK_NUMBER(decode_snap(&w, &snap), -EBADMSG);
    CHECK_NUMBER(snap.id, 42);
  }
  wire_writer_clear(&w);
}

static void
test_a_snapshot_whose_structure_is_too_short_is_refused(void)
{
  struct wire_writer w = {0};
  write_snap(&w, 0, 0);
  uint32_t whole = (uint32_t)(w.len - 6);
  for (uint32_t len = 0; len < whole; len++) {
    for (int i = 0; i < 4; i++)
      w.data[2 + i] = (char)(len >> (8 * i));
    struct snap snap;
    CHECK_NUMBER(decode_snap(&w, &snap), -EBADMSG);
  }
  wire_writer_clear(&w);
}

static void
test_a_snapshot_whose_kind_is_too_short_is_refused(void)
{
  struct wire_writer w = {0}, body = {0};
  wire_put_u64(&body, 4);
  wire_put_u8(&body, 1);
  wire_put_u8(&body, 1);
  wire_put_u32(&body, 2); /* a kind has four bytes */
  wire_put_u8(&body, 0);
  wire_put_u8(&body, 0);
  wire_put_string(&body, "name");
  for (int i = 0; i < 5; i++)
    wire_put_u64(&body, 0);
  end_struct(&w, &body);
  struct snap snap;
  CHECK_NUMBER(decode_snap(&w, &snap), -EBADMSG);
  wire_writer_clear(&w);
  wire_writer_clear(&body);
}

UNIT_MAIN("lib/ceph/header_decode", UNIT_TEST(test_a_header_is_decoded),
          UNIT_TEST(test_a_bare_image_is_decoded),
          UNIT_TEST(test_an_answer_cut_at_any_byte_is_refused),
          UNIT_TEST(test_a_missing_answer_is_refused),
          UNIT_TEST(test_what_a_newer_release_adds_is_passed_over),
          UNIT_TEST(test_counts_that_do_not_add_up_are_refused),
          UNIT_TEST(test_a_parent_whose_structure_is_too_short_is_refused),
          UNIT_TEST(test_a_snapshot_is_decoded),
          UNIT_TEST(test_a_snapshot_cut_at_any_byte_is_refused),
          UNIT_TEST(test_a_snapshot_whose_structure_is_too_short_is_refused),
          UNIT_TEST(test_a_snapshot_whose_kind_is_too_short_is_refused))
