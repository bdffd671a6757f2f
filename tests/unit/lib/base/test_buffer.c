/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/buffer.h"

#include <string.h>

#include "tests/unit/unit.h"

static void
test_bytes_are_appended_and_a_nul_stands_behind(void)
{
  struct buffer buffer = {0};
  CU_ASSERT(buffer_append(&buffer, "ab\0c", 4));
  CU_ASSERT(buffer_append_text(&buffer, "def"));
  CU_ASSERT(buffer_append(&buffer, NULL, 0));
  CHECK_NUMBER(buffer.len, 7);
  CU_ASSERT_EQUAL(memcmp(buffer.data, "ab\0cdef", 8), 0);
  buffer_clear(&buffer);
}

static void
test_an_empty_append_makes_an_empty_text(void)
{
  struct buffer buffer = {0};
  CU_ASSERT(buffer_append(&buffer, "", 0));
  CHECK_STRING(buffer.data, "");
  buffer_clear(&buffer);
}

static void
test_it_grows_as_far_as_it_must(void)
{
  struct buffer buffer = {0};
  char chunk[255];
  memset(chunk, 'x', sizeof(chunk));
  for (int i = 0; i < 1000; i++)
    CU_ASSERT(buffer_append(&buffer, chunk, (size_t)(i % 256 ? i % 256 - 1 : 255)));
  size_t len = buffer.len;
  CU_ASSERT(strlen(buffer.data) == len && strspn(buffer.data, "x") == len);
  buffer_clear(&buffer);
}

static void
test_the_limit_is_not_passed(void)
{
  struct buffer buffer = {.limit = 5};
  CU_ASSERT_FALSE(buffer_append(&buffer, "123456", 6));
  CHECK_NUMBER(buffer.len, 0);
  CU_ASSERT(buffer_append(&buffer, "123", 3));
  CU_ASSERT_FALSE(buffer_append(&buffer, "456", 3));
  CHECK_STRING(buffer.data, "123");
  CU_ASSERT(buffer_append(&buffer, "45", 2));
  CU_ASSERT_FALSE(buffer_append(&buffer, "6", 1));
  CU_ASSERT(buffer_append(&buffer, "", 0));
  CU_ASSERT_FALSE(buffer_append(&buffer, "", SIZE_MAX));
  CHECK_STRING(buffer.data, "12345");
  buffer_clear(&buffer);
}

static void
test_clearing_keeps_the_limit(void)
{
  struct buffer buffer = {.limit = 2};
  CU_ASSERT(buffer_append(&buffer, "12", 2));
  buffer_clear(&buffer);
  CHECK_NUMBER(buffer.len, 0);
  CU_ASSERT_PTR_NULL(buffer.data);
  CU_ASSERT_FALSE(buffer_append(&buffer, "123", 3));
  CU_ASSERT(buffer_append(&buffer, "12", 2));
  buffer_clear(&buffer);
  buffer_clear(&buffer);
}

static void
test_numbers_are_little_endian(void)
{
  struct buffer buffer = {0};
  buffer_append_u32(&buffer, 0x01020304);
  buffer_append_u64(&buffer, 0x1112131415161718);
  CHECK_NUMBER(buffer.len, 12);
  CU_ASSERT_EQUAL(memcmp(buffer.data, "\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11", 12), 0);
  buffer_clear(&buffer);
}

UNIT_MAIN("lib/base/buffer", UNIT_TEST(test_bytes_are_appended_and_a_nul_stands_behind),
          UNIT_TEST(test_an_empty_append_makes_an_empty_text),
          UNIT_TEST(test_it_grows_as_far_as_it_must), UNIT_TEST(test_the_limit_is_not_passed),
          UNIT_TEST(test_clearing_keeps_the_limit), UNIT_TEST(test_numbers_are_little_endian))
