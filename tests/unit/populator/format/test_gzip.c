/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/gzip.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/format/memory_stream.h"
#include "tests/format/pack.h"
#include "tests/unit/unit.h"

#define DATA_LEN ((size_t)700000)

static char *
make_data(void)
{
  char *data = xcalloc(1, DATA_LEN);
  pack_fill(data, DATA_LEN, 7);
  return data;
}

static struct stream *
open_gzip(const struct buffer *packed, size_t piece)
{
  struct stream *stream = NULL;
  REQUIRE(gzip_stream_new(memory_stream_new(packed->data, packed->len, 0, piece), &stream, NULL) ==
          0);
  return stream;
}

/* Reads all of it. */
static ssize_t
read_all(struct stream *stream, char *buf, size_t room, struct error **err)
{
  ssize_t got = stream_read_most(stream, buf, room, err);
  char more;
  if (got >= 0 && stream_read(stream, &more, 1, err) != 0)
    return -1;
  return got;
}

static void
check_content(const struct buffer *packed, size_t piece, const char *data, size_t len,
              const char *what)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *buf = xcalloc(1, len + 1);
  CLEANUP(stream_closep) struct stream *stream = open_gzip(packed, piece);
  CHECK_ROW(read_all(stream, buf, len + 1, &err) == (ssize_t)len, what);
  CHECK_ROW(memcmp(buf, data, len) == 0, what);
}

static void
check_refused(const struct buffer *packed, enum error_code code, const char *text)
{
  CLEANUP(error_freep) struct error *err = NULL;
  static char buf[1 << 20];
  CLEANUP(stream_closep) struct stream *stream = open_gzip(packed, 0);
  CHECK_NUMBER(read_all(stream, buf, sizeof(buf), &err), -1);
  CHECK_ERROR(&err, code, text);
}

static void
test_all_kinds_of_blocks_are_read(void)
{
  CLEANUP(freep) char *data = make_data();
  for (int blocks = PACK_STORED; blocks <= PACK_DYNAMIC; blocks++) {
    CLEANUP(buffer_clear) struct buffer packed = {0};
    pack_gzip(&packed, data, DATA_LEN, (enum pack_blocks)blocks, 0);
    check_content(&packed, 0, data, DATA_LEN, "all at once");
    check_content(&packed, 1000, data, DATA_LEN, "in pieces");
    buffer_clear(&packed);
    pack_gzip(&packed, data, 40000, (enum pack_blocks)blocks, 0);
    check_content(&packed, 1, data, 40000, "byte by byte");
  }
}

static void
test_all_kinds_of_headers_are_read(void)
{
  CLEANUP(freep) char *data = make_data();
  for (unsigned flags = 0; flags < 32; flags += 2) {
    CLEANUP(buffer_clear) struct buffer packed = {0};
    pack_gzip(&packed, data, 1000, PACK_DYNAMIC, flags);
    check_content(&packed, 7, data, 1000, "a header");
  }
}

static void
test_members_follow_each_other(void)
{
  CLEANUP(freep) char *data = make_data();
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_gzip(&packed, data, 100000, PACK_DYNAMIC, PACK_NAME);
  pack_gzip(&packed, data + 100000, 0, PACK_FIXED, 0); /* an empty one */
  pack_gzip(&packed, data + 100000, 200000, PACK_STORED, PACK_HEADER_CRC);
  pack_gzip(&packed, data + 300000, DATA_LEN - 300000, PACK_FIXED, 0);
  check_content(&packed, 0, data, DATA_LEN, "members");
  check_content(&packed, 1300, data, DATA_LEN, "members in pieces");
  char padding[100000] = {0};
  (void)buffer_append(&packed, padding, sizeof(padding));
  check_content(&packed, 0, data, DATA_LEN, "members with padding");
  (void)buffer_append(&packed, "x", 1);
  check_refused(&packed, ERROR_DATA_LOSS, "behind the end");
  packed.len -= sizeof(padding) + 1;
  (void)buffer_append(&packed, "something else", 14); /* without padding */
  check_refused(&packed, ERROR_DATA_LOSS, "behind the end");
}

static void
test_an_empty_member_is_nothing(void)
{
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_gzip(&packed, "", 0, PACK_DYNAMIC, 0);
  check_content(&packed, 0, "", 0, "empty");
}

static void
test_what_is_not_gzip_is_refused(void)
{
  static const struct {
    size_t offset;
    unsigned char byte;
    enum error_code code;
    const char *text;
  } rows[] = {
      {0, 0x1e, ERROR_DATA_LOSS, "no gzip header"}, {1, 0x8c, ERROR_DATA_LOSS, "no gzip header"},
      {2, 7, ERROR_INVALID_ARGUMENT, "method 7"},   {3, 0x20, ERROR_INVALID_ARGUMENT, "flags"},
      {3, 0x80, ERROR_INVALID_ARGUMENT, "flags"},   {10, 0xff, ERROR_DATA_LOSS, "damaged"},
  };
  CLEANUP(freep) char *data = make_data();
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(buffer_clear) struct buffer packed = {0};
    pack_gzip(&packed, data, 5000, PACK_DYNAMIC, 0);
    packed.data[rows[i].offset] = (char)rows[i].byte;
    check_refused(&packed, rows[i].code, rows[i].text);
  }
}

static void
test_checksums_and_lengths_are_checked(void)
{
  CLEANUP(freep) char *data = make_data();
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_gzip(&packed, data, 5000, PACK_STORED, 0);
  packed.data[packed.len - 8] ^= 1;
  check_refused(&packed, ERROR_DATA_LOSS, "checksum is wrong");
  packed.data[packed.len - 8] ^= 1;
  packed.data[packed.len - 1] ^= 1;
  check_refused(&packed, ERROR_DATA_LOSS, "length is wrong");
  packed.data[packed.len - 1] ^= 1;
  packed.data[100] ^= 1; /* stored data */
  check_refused(&packed, ERROR_DATA_LOSS, "checksum is wrong");
  buffer_clear(&packed);
  pack_gzip(&packed, data, 5000, PACK_STORED, PACK_HEADER_CRC);
  packed.data[4] ^= 1;
  check_refused(&packed, ERROR_DATA_LOSS, "checksum of a header");
}

static void
test_an_early_end_is_an_error_wherever(void)
{
  CLEANUP(freep) char *data = make_data();
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_gzip(&packed, data, 3000, PACK_DYNAMIC, PACK_NAME | PACK_EXTRA | PACK_HEADER_CRC);
  size_t whole = packed.len;
  pack_gzip(&packed, data, 300, PACK_FIXED, PACK_COMMENT);
  size_t len = packed.len;
  for (size_t cut = 0; cut < len; cut++) {
    if (cut == whole)
      continue; /* the end of a member is an end */
    packed.len = cut;
    check_refused(&packed, ERROR_DATA_LOSS, cut == 0 ? "in a header" : "ends too early");
  }
}

static void
test_a_name_without_end_is_refused(void)
{
  CLEANUP(buffer_clear) struct buffer packed = {0};
  const unsigned char header[] = {0x1f, 0x8b, 8, PACK_NAME, 0, 0, 0, 0, 0, 3};
  (void)buffer_append(&packed, header, sizeof(header));
  for (unsigned i = 0; i < 70000; i++)
    (void)buffer_append(&packed, "n", 1);
  check_refused(&packed, ERROR_DATA_LOSS, "does not end");
}

static void
test_errors_below_are_passed_on(void)
{
  CLEANUP(freep) char *data = make_data();
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_gzip(&packed, data, DATA_LEN, PACK_DYNAMIC, 0);
  struct stream *below = memory_stream_new(packed.data, packed.len, 0, 0);
  memory_stream_fail_at(below, 70000);
  CLEANUP(stream_closep) struct stream *stream = NULL;
  REQUIRE(gzip_stream_new(below, &stream, &err) == 0);
  CLEANUP(freep) char *buf = xcalloc(1, DATA_LEN);
  CHECK_NUMBER(stream_read_most(stream, buf, DATA_LEN, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "connection lost");
}

/* ---- saving ------------------------------------------------------------------------------------
 */

static struct stream *
restart(struct stream *stream, const struct buffer *packed, size_t piece)
{
  struct stream *restored = memory_stream_restart(stream, gzip_stream_restore, packed, piece);
  REQUIRE(restored);
  return restored;
}

static void
check_saved_every(const struct buffer *packed, const char *data, size_t len, size_t every,
                  size_t piece)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *buf = xcalloc(1, len + every + 1);
  CLEANUP(stream_closep) struct stream *stream = open_gzip(packed, piece);
  stream = restart(TAKE(stream), packed, piece); /* before the first byte */
  size_t got = 0;
  for (;;) {
    ssize_t n = stream_read(stream, buf + got, every, &err);
    REQUIRE(n >= 0);
    if (n == 0)
      break;
    got += (size_t)n;
    REQUIRE(got <= len);
    stream = restart(TAKE(stream), packed, piece);
  }
  stream = restart(TAKE(stream), packed, piece); /* behind the last */
  CHECK_NUMBER(stream_read(stream, buf, 1, &err), 0);
  CHECK_NUMBER(got, len);
  CU_ASSERT(memcmp(buf, data, len) == 0);
}

static void
test_it_goes_on_from_a_saved_state(void)
{
  CLEANUP(freep) char *data = make_data();
  for (int blocks = PACK_STORED; blocks <= PACK_DYNAMIC; blocks++) {
    CLEANUP(buffer_clear) struct buffer packed = {0};
    pack_gzip(&packed, data, 40000, (enum pack_blocks)blocks, PACK_NAME);
    check_saved_every(&packed, data, 40000, 797, 0);
    check_saved_every(&packed, data, 40000, 1997, 1);
    buffer_clear(&packed);
    pack_gzip(&packed, data, DATA_LEN, (enum pack_blocks)blocks, 0);
    check_saved_every(&packed, data, DATA_LEN, 100021, 4096);
    check_saved_every(&packed, data, DATA_LEN, 333333, 0);
  }
}

static void
test_it_goes_on_between_members(void)
{
  CLEANUP(freep) char *data = make_data();
  CLEANUP(buffer_clear) struct buffer packed = {0};
  for (unsigned i = 0; i < 20; i++)
    pack_gzip(&packed, data + (size_t)i * 100, 100, (enum pack_blocks)(i % 3),
              i % 2 ? PACK_NAME : 0);
  (void)buffer_append(&packed, "\0\0\0\0", 4);
  check_saved_every(&packed, data, 2000, 50, 0);
  check_saved_every(&packed, data, 2000, 1, 3);
  check_saved_every(&packed, data, 2000, 100, 0);
}

/* 40 MiB of zeros: a few blocks, each much longer than what is read ahead. */
static void
test_long_blocks_are_saved_in_little_room(void)
{
  const size_t len = (size_t)40 << 20;
  CLEANUP(freep) char *zeros = xcalloc(1, len);
  CLEANUP(freep) char *buf = xcalloc(1, 1 << 20);
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  pack_gzip(&packed, zeros, len, PACK_DYNAMIC, 0);
  CLEANUP(stream_closep) struct stream *stream = open_gzip(&packed, 0);
  REQUIRE(stream_read(stream, buf, 1 << 20, &err) > 0);
  REQUIRE(stream->ops->save(stream, &state, &err) == 0);
  CU_ASSERT(state.len < 100000);
}

static void
test_a_damaged_state_is_refused(void)
{
  CLEANUP(freep) char *data = make_data();
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(buffer_clear) struct buffer state = {0};
  char buf[1000];
  pack_gzip(&packed, data, 40000, PACK_DYNAMIC, 0);
  CLEANUP(stream_closep) struct stream *stream = open_gzip(&packed, 0);
  REQUIRE(stream_read(stream, buf, sizeof(buf), NULL) == sizeof(buf));
  REQUIRE(stream->ops->save(stream, &state, NULL) == 0);
  for (size_t len = 0; len < state.len; len += 1 + len / 10) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct stream *restored = NULL;
    size_t used;
    CHECK_NUMBER(gzip_stream_restore(memory_stream_new("", 0, 0, 0), state.data, len, &used,
                                     &restored, &err),
                 -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "saved state");
  }
}

UNIT_MAIN("populator/format/gzip", UNIT_TEST(test_all_kinds_of_blocks_are_read),
          UNIT_TEST(test_all_kinds_of_headers_are_read), UNIT_TEST(test_members_follow_each_other),
          UNIT_TEST(test_an_empty_member_is_nothing), UNIT_TEST(test_what_is_not_gzip_is_refused),
          UNIT_TEST(test_checksums_and_lengths_are_checked),
          UNIT_TEST(test_an_early_end_is_an_error_wherever),
          UNIT_TEST(test_a_name_without_end_is_refused), UNIT_TEST(test_errors_below_are_passed_on),
          UNIT_TEST(test_it_goes_on_from_a_saved_state), UNIT_TEST(test_it_goes_on_between_members),
          UNIT_TEST(test_long_blocks_are_saved_in_little_room),
          UNIT_TEST(test_a_damaged_state_is_refused))
