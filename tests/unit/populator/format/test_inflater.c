/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/inflater.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/format/pack.h"
#include "tests/unit/unit.h"

#define DATA_LEN ((size_t)700000)

struct feed {
  const char *at;
  size_t left;
};

static void
take(struct feed *feed, size_t len)
{
  feed->at += len;
  feed->left -= len;
}

/* Decodes up to `room` bytes, input in pieces. */
static size_t
run(struct inflater *inflater, struct feed *feed, size_t piece, char *out, size_t room)
{
  size_t got = 0;
  while (got < room && !inflater_is_done(inflater)) {
    size_t len = feed->left < piece ? feed->left : piece;
    struct inflater_io io = {.in = (const unsigned char *)feed->at,
                             .in_len = len,
                             .out = (unsigned char *)out + got,
                             .out_len = room - got};
    REQUIRE(inflater_run(inflater, &io, NULL) == 0);
    take(feed, len - io.in_len);
    bool is_stuck = io.in_len == len && io.out_len == room - got;
    got = room - io.out_len;
    if (is_stuck)
      break;
  }
  return got;
}

static void
test_what_stands_behind_the_end_is_handed_back(void)
{
  for (int blocks = PACK_STORED; blocks <= PACK_DYNAMIC; blocks++) {
    CLEANUP(inflater_freep) struct inflater *inflater = inflater_new();
    CLEANUP(buffer_clear) struct buffer packed = {0};
    char data[3000], out[3000];
    pack_fill(data, sizeof(data), 3);
    pack_deflate(&packed, data, sizeof(data), (enum pack_blocks)blocks);
    size_t len = packed.len;
    (void)buffer_append_text(&packed, "0123456789abcdef");
    struct feed feed = {.at = packed.data, .left = packed.len};
    CHECK_NUMBER(run(inflater, &feed, SIZE_MAX, out, sizeof(out)), sizeof(out));
    if (!inflater_is_done(inflater)) { /* the last block may not have been seen to end */
      struct inflater_io io = {
          .in = (const unsigned char *)feed.at, .in_len = feed.left, .out = (unsigned char *)out};
      REQUIRE(inflater_run(inflater, &io, NULL) == 0);
      take(&feed, feed.left - io.in_len);
    }
    CU_ASSERT(inflater_is_done(inflater));
    unsigned char leftover[INFLATER_LEFTOVER_MAX];
    size_t count = inflater_leftover(inflater, leftover);
    CHECK_NUMBER((size_t)(feed.at - packed.data) - count, len);
    CU_ASSERT(memcmp(leftover, "0123456789abcdef", count) == 0);
    CHECK_NUMBER(inflater_leftover(inflater, leftover), 0);
  }
}

static void
test_it_can_be_used_again(void)
{
  CLEANUP(inflater_freep) struct inflater *inflater = inflater_new();
  CLEANUP(buffer_clear) struct buffer packed = {0};
  char data[1000], out[1000];
  pack_fill(data, sizeof(data), 5);
  pack_deflate(&packed, data, sizeof(data), PACK_DYNAMIC);
  for (unsigned i = 0; i < 3; i++) {
    struct feed feed = {.at = packed.data, .left = packed.len / 2 * (i + 1)};
    if (feed.left > packed.len)
      feed.left = packed.len;
    (void)run(inflater, &feed, 10, out, sizeof(out));
    inflater_reset(inflater);
  }
  struct feed feed = {.at = packed.data, .left = packed.len};
  CHECK_NUMBER(run(inflater, &feed, SIZE_MAX, out, sizeof(out)), sizeof(out));
  CU_ASSERT(memcmp(out, data, sizeof(data)) == 0);
}

static void
test_settling_asks_for_more_input(void)
{
  CLEANUP(inflater_freep) struct inflater *inflater = inflater_new();
  CLEANUP(freep) char *data = xcalloc(1, DATA_LEN);
  CLEANUP(freep) char *out = xcalloc(1, DATA_LEN);
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(buffer_clear) struct buffer ahead = {0};
  pack_fill(data, DATA_LEN, 9);
  pack_deflate(&packed, data, DATA_LEN, PACK_DYNAMIC);
  struct feed feed = {.at = packed.data, .left = packed.len};
  size_t got = run(inflater, &feed, SIZE_MAX, out, 1000);
  size_t taken;
  bool is_settled = true;
  REQUIRE(inflater_settle(inflater, feed.at, 10, &ahead, &taken, &is_settled, NULL) == 0);
  CU_ASSERT_FALSE(is_settled);
  CHECK_NUMBER(taken, 10);
  take(&feed, taken);
  REQUIRE(inflater_settle(inflater, feed.at, feed.left, &ahead, &taken, &is_settled, NULL) == 0);
  CU_ASSERT(is_settled);
  CU_ASSERT(taken < feed.left);
  CU_ASSERT(memcmp(ahead.data, data + got, ahead.len) == 0);
}

/* A state into another inflater, and the same comes out of both. */
static void
check_restored(struct inflater *inflater, struct feed feed, const char *data, size_t len)
{
  CLEANUP(buffer_clear) struct buffer body = {0};
  CLEANUP(inflater_freep) struct inflater *restored = inflater_new();
  CLEANUP(freep) char *out = xcalloc(1, len);
  CLEANUP(error_freep) struct error *err = NULL;
  inflater_save(inflater, &body);
  struct state_reader reader = {.at = (unsigned char *)body.data, .left = body.len};
  REQUIRE(inflater_restore(restored, &reader, &err) == 0);
  CHECK_NUMBER(reader.left, 0);
  CHECK_NUMBER(run(restored, &feed, 1000, out, len), len);
  CU_ASSERT(memcmp(out, data, len) == 0);
}

static void
test_states_are_saved_at_every_kind_of_place(void)
{
  CLEANUP(freep) char *data = xcalloc(1, DATA_LEN);
  CLEANUP(freep) char *out = xcalloc(1, DATA_LEN);
  pack_fill(data, DATA_LEN, 11);
  for (int blocks = PACK_STORED; blocks <= PACK_DYNAMIC; blocks++) {
    CLEANUP(buffer_clear) struct buffer packed = {0};
    CLEANUP(inflater_freep) struct inflater *inflater = inflater_new();
    pack_deflate(&packed, data, DATA_LEN, (enum pack_blocks)blocks);
    struct feed feed = {.at = packed.data, .left = packed.len};
    size_t got = 0;
    while (got < DATA_LEN) {
      CLEANUP(buffer_clear) struct buffer ahead = {0};
      size_t taken;
      bool is_settled;
      size_t room = DATA_LEN - got < 30000 ? DATA_LEN - got : 30000;
      got += run(inflater, &feed, 777, out, room);
      REQUIRE(inflater_settle(inflater, feed.at, feed.left, &ahead, &taken, &is_settled, NULL) ==
              0);
      REQUIRE(is_settled);
      take(&feed, taken);
      CU_ASSERT(ahead.len == 0 || memcmp(ahead.data, data + got, ahead.len) == 0);
      got += ahead.len;
      if (!inflater_is_done(inflater) && got < DATA_LEN)
        check_restored(inflater, feed, data + got, DATA_LEN - got);
    }
  }
}

static void
test_damaged_states_are_refused(void)
{
  static const struct {
    const char *body;
    size_t len;
    const char *what;
  } rows[] = {
      {"", 0, "nothing"},
      {"\5abc", 4, "history that is cut off"},
      {"\0\3", 2, "a place that is none"},
      {"\0\0\x41\0\0", 5, "65 bits"},
      {"\0\0\1\1\xff\xff\1", 7, "a header of 32 kB"},
      {"\0\1\2\0", 4, "final is neither yes nor no"},
      {"\0\1\1\x80\x80\x04", 6, "a stored block of 64 KiB"},
      {"\0\2\1\1\2", 5, "final is neither yes nor no"},
      {"\0\0\0\0\1\7", 6, "a header that is none"},
      {"\0\0\1", 3, "no bits"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(inflater_freep) struct inflater *inflater = inflater_new();
    CLEANUP(error_freep) struct error *err = NULL;
    struct state_reader reader = {.at = (const unsigned char *)rows[i].body, .left = rows[i].len};
    CHECK_ROW(inflater_restore(inflater, &reader, &err) == -1, rows[i].what);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "saved state");
  }
}

UNIT_MAIN("populator/format/inflater", UNIT_TEST(test_what_stands_behind_the_end_is_handed_back),
          UNIT_TEST(test_it_can_be_used_again), UNIT_TEST(test_settling_asks_for_more_input),
          UNIT_TEST(test_states_are_saved_at_every_kind_of_place),
          UNIT_TEST(test_damaged_states_are_refused))
