/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/xxh64.h"

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static void
test_known_values(void)
{
  static const struct {
    const char *text;
    size_t len;
    uint64_t value;
  } rows[] = {
      {"", 0, 0xef46db3751d8e999ULL},
      {"a", 1, 0xd24ec4f1a98c6e5bULL},
      {"abc", 3, 0x44bc2cf5ad770999ULL},
      {"Nobody inspects the spammish repetition", 39, 0xfbcea83c8a378bf1ULL},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct xxh64 hash;
    xxh64_init(&hash);
    xxh64_add(&hash, rows[i].text, rows[i].len);
    CHECK_ROW(xxh64_value(&hash) == rows[i].value, rows[i].text);
  }
}

static void
test_pieces_and_saved_states_make_no_difference(void)
{
  unsigned char bytes[300];
  struct xxh64 whole;
  for (size_t i = 0; i < sizeof(bytes); i++)
    bytes[i] = (unsigned char)(i * 151);
  xxh64_init(&whole);
  xxh64_add(&whole, bytes, sizeof(bytes));
  for (size_t piece = 1; piece < 100; piece++) {
    struct xxh64 hash;
    xxh64_init(&hash);
    for (size_t at = 0; at < sizeof(bytes); at += piece) {
      CLEANUP(buffer_clear) struct buffer body = {0};
      xxh64_save(&hash, &body);
      struct state_reader reader = {.at = (unsigned char *)body.data, .left = body.len};
      xxh64_restore(&hash, &reader);
      REQUIRE(!reader.failed && reader.left == 0);
      xxh64_add(&hash, bytes + at, sizeof(bytes) - at < piece ? sizeof(bytes) - at : piece);
    }
    CU_ASSERT(xxh64_value(&hash) == xxh64_value(&whole));
  }
}

static void
test_a_state_of_another_length_is_refused(void)
{
  CLEANUP(buffer_clear) struct buffer body = {0};
  struct xxh64 hash;
  xxh64_init(&hash);
  xxh64_add(&hash, "abc", 3);
  xxh64_save(&hash, &body);
  for (size_t len = 0; len < body.len; len++) {
    struct state_reader reader = {.at = (unsigned char *)body.data, .left = len};
    xxh64_restore(&hash, &reader);
    CU_ASSERT(reader.failed);
  }
  body.data[body.len - 4]++; /* how many bytes stand there */
  struct state_reader reader = {.at = (unsigned char *)body.data, .left = body.len};
  xxh64_restore(&hash, &reader);
  CU_ASSERT(reader.failed);
}

UNIT_MAIN("populator/format/xxh64", UNIT_TEST(test_known_values),
          UNIT_TEST(test_pieces_and_saved_states_make_no_difference),
          UNIT_TEST(test_a_state_of_another_length_is_refused))
