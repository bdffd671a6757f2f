/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/wire.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static struct wire_reader
reader_of(const struct wire_writer *w)
{
  return (struct wire_reader){.at = w->data, .left = w->len};
}

static void
test_numbers_are_little_endian(void)
{
  struct wire_writer w = {0};
  wire_put_u8(&w, 0xab);
  wire_put_u32(&w, 0x01020304);
  wire_put_u64(&w, 0x1112131415161718);
  static const char expected[] = "\xab\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11";
  CHECK_NUMBER(w.len, sizeof(expected) - 1);
  CU_ASSERT_EQUAL(memcmp(w.data, expected, w.len), 0);
  wire_writer_clear(&w);
}

static void
test_numbers_are_read_as_they_were_written(void)
{
  struct wire_writer w = {0};
  wire_put_u8(&w, UINT8_MAX);
  wire_put_u32(&w, UINT32_MAX);
  wire_put_u64(&w, UINT64_MAX - 1);
  wire_put_u8(&w, 0);
  struct wire_reader r = reader_of(&w);
  CHECK_NUMBER(wire_get_u8(&r), UINT8_MAX);
  CHECK_NUMBER(wire_get_u32(&r), UINT32_MAX);
  CHECK_NUMBER(wire_get_u64(&r), UINT64_MAX - 1);
  CHECK_NUMBER(wire_get_u8(&r), 0);
  CHECK_NUMBER(r.left, 0);
  CU_ASSERT_FALSE(r.failed);
  wire_writer_clear(&w);
}

static void
test_strings_have_their_length_in_front(void)
{
  struct wire_writer w = {0};
  wire_put_string(&w, "");
  wire_put_string(&w, "abc");
  static const char expected[] = "\0\0\0\0\3\0\0\0abc";
  CHECK_NUMBER(w.len, sizeof(expected) - 1);
  CU_ASSERT_EQUAL(memcmp(w.data, expected, w.len), 0);
  struct wire_reader r = reader_of(&w);
  CLEANUP(freep) char *empty = wire_get_string(&r);
  CLEANUP(freep) char *text = wire_get_string(&r);
  CHECK_STRING(empty, "");
  CHECK_STRING(text, "abc");
  CU_ASSERT_FALSE(r.failed);
  wire_writer_clear(&w);
}

static void
test_a_writer_may_be_used_again(void)
{
  struct wire_writer w = {0};
  wire_put_string(&w, "abc");
  wire_writer_clear(&w);
  CHECK_NUMBER(w.len, 0);
  wire_put_u8(&w, 1);
  CHECK_NUMBER(w.len, 1);
  wire_writer_clear(&w);
  wire_writer_clear(&w);
}

static void
write_sample(struct wire_writer *w)
{
  wire_put_u8(w, 1);
  wire_put_u32(w, 2);
  wire_put_string(w, "three");
  wire_put_u64(w, 4);
}

static void
test_a_cut_at_any_byte_fails_the_reader(void)
{
  struct wire_writer w = {0};
  write_sample(&w);
  for (size_t len = 0; len <= w.len; len++) {
    /* A copy of exactly this length, so that AddressSanitizer sees a read behind it. */
    CLEANUP(freep) char *cut = xcalloc(1, len ? len : 1);
    memcpy(cut, w.data, len);
    struct wire_reader r = {.at = cut, .left = len};
    uint8_t one = wire_get_u8(&r);
    uint32_t two = wire_get_u32(&r);
    CLEANUP(freep) char *three = wire_get_string(&r);
    uint64_t four = wire_get_u64(&r);
    CU_ASSERT_EQUAL(r.failed, len < w.len);
    CHECK_NUMBER(one, len >= 1 ? 1 : 0);
    CHECK_NUMBER(two, len >= 5 ? 2 : 0);
    CHECK_STRING(three, len >= 14 ? "three" : NULL);
    CHECK_NUMBER(four, len >= 22 ? 4 : 0);
  }
  wire_writer_clear(&w);
}

static void
test_a_failed_reader_gives_zeros_from_then_on(void)
{
  struct wire_reader r = {.at = "\x01\x01\x01", .left = 3};
  CHECK_NUMBER(wire_get_u32(&r), 0);
  CU_ASSERT(r.failed);
  CHECK_NUMBER(wire_get_u8(&r), 0); /* though there would be three bytes */
  CHECK_NUMBER(wire_get_u64(&r), 0);
  CU_ASSERT_PTR_NULL(wire_get_string(&r));
  struct wire_reader body;
  wire_get_struct(&r, &body);
  CU_ASSERT(body.failed);
  CHECK_NUMBER(wire_get_u8(&body), 0);
}

static void
test_lengths_beyond_the_end_fail(void)
{
  static const uint32_t lengths[] = {4, 5, 0x7fffffff, 0x80000000, UINT32_MAX};
  for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
    struct wire_writer w = {0};
    wire_put_u32(&w, lengths[i]);
    wire_put_u8(&w, 'a');
    wire_put_u8(&w, 'b');
    wire_put_u8(&w, 'c');
    struct wire_reader r = reader_of(&w);
    CU_ASSERT_PTR_NULL(wire_get_string(&r));
    CU_ASSERT(r.failed);
    wire_writer_clear(&w);
  }
}

/* A versioned structure with `extra` bytes behind its one field, and a byte behind it. */
static void
write_struct(struct wire_writer *w, uint32_t extra)
{
  wire_put_u8(w, 9); /* version */
  wire_put_u8(w, 1); /* oldest that can read it */
  wire_put_u32(w, 4 + extra);
  wire_put_u32(w, 0xcafe);
  for (uint32_t i = 0; i < extra; i++)
    wire_put_u8(w, 0xff);
  wire_put_u8(w, 7);
}

static void
test_what_a_newer_release_added_is_passed_over(void)
{
  for (uint32_t extra = 0; extra < 5; extra++) {
    struct wire_writer w = {0};
    write_struct(&w, extra);
    struct wire_reader r = reader_of(&w), body;
    wire_get_struct(&r, &body);
    CHECK_NUMBER(wire_get_u32(&body), 0xcafe);
    CU_ASSERT_FALSE(body.failed);
    CHECK_NUMBER(body.left, extra);
    CHECK_NUMBER(wire_get_u8(&r), 7);
    CU_ASSERT_FALSE(r.failed);
    wire_writer_clear(&w);
  }
}

static void
test_a_structure_is_not_read_past_its_end(void)
{
  struct wire_writer w = {0};
  write_struct(&w, 0);
  struct wire_reader r = reader_of(&w), body;
  wire_get_struct(&r, &body);
  (void)wire_get_u32(&body);
  CHECK_NUMBER(wire_get_u8(&body), 0); /* the 7 behind it is not its own */
  CU_ASSERT(body.failed);
  CHECK_NUMBER(wire_get_u8(&r), 7);
  CU_ASSERT_FALSE(r.failed);
  wire_writer_clear(&w);
}

static void
test_a_structure_cut_at_any_byte_fails(void)
{
  struct wire_writer w = {0};
  write_struct(&w, 2);
  for (size_t len = 0; len < w.len - 1; len++) {
    CLEANUP(freep) char *cut = xcalloc(1, len ? len : 1);
    memcpy(cut, w.data, len);
    struct wire_reader r = {.at = cut, .left = len}, body;
    wire_get_struct(&r, &body);
    CU_ASSERT(r.failed);
    CU_ASSERT(body.failed);
    CHECK_NUMBER(wire_get_u32(&body), 0);
  }
  wire_writer_clear(&w);
}

UNIT_MAIN("lib/ceph/wire", UNIT_TEST(test_numbers_are_little_endian),
          UNIT_TEST(test_numbers_are_read_as_they_were_written),
          UNIT_TEST(test_strings_have_their_length_in_front),
          UNIT_TEST(test_a_writer_may_be_used_again),
          UNIT_TEST(test_a_cut_at_any_byte_fails_the_reader),
          UNIT_TEST(test_a_failed_reader_gives_zeros_from_then_on),
          UNIT_TEST(test_lengths_beyond_the_end_fail),
          UNIT_TEST(test_what_a_newer_release_added_is_passed_over),
          UNIT_TEST(test_a_structure_is_not_read_past_its_end),
          UNIT_TEST(test_a_structure_cut_at_any_byte_fails))
