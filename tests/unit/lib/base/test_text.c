/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

struct bytes_row {
  const char *bytes;
  const char *what;
};

static void
test_utf8_accepts_the_ends_of_every_range(void)
{
  static const struct bytes_row rows[] = {
      {"", "empty"},
      {"plain", "ASCII"},
      {"\x01\x7f", "control characters"},
      {"\xc2\x80", "U+0080"},
      {"\xdf\xbf", "U+07FF"},
      {"\xe0\xa0\x80", "U+0800"},
      {"\xed\x9f\xbf", "U+D7FF, the last before the surrogates"},
      {"\xee\x80\x80", "U+E000, the first behind them"},
      {"\xef\xbf\xbd", "U+FFFD"},
      {"\xef\xbf\xbf", "U+FFFF"},
      {"\xf0\x90\x80\x80", "U+10000"},
      {"\xf4\x8f\xbf\xbf", "U+10FFFF, the last there is"},
      {"a\xc3\xa9z\xe2\x82\xacz\xf0\x9f\x92\xbe", "a mixture"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    CHECK_ROW(text_is_utf8(rows[i].bytes, strlen(rows[i].bytes)), rows[i].what);
}

static void
test_utf8_rejects_bad_sequences(void)
{
  static const struct bytes_row rows[] = {
      {"\x80", "a continuation byte alone"},
      {"\xbf", "the last continuation byte alone"},
      {"a\x80z", "a continuation byte amid text"},
      {"\xc0\x80", "NUL in two bytes"},
      {"\xc0\xaf", "'/' in two bytes"},
      {"\xc1\xbf", "U+007F in two bytes"},
      {"\xe0\x80\x80", "NUL in three bytes"},
      {"\xe0\x9f\xbf", "U+07FF in three bytes"},
      {"\xf0\x80\x80\x80", "NUL in four bytes"},
      {"\xf0\x8f\xbf\xbf", "U+FFFF in four bytes"},
      {"\xed\xa0\x80", "U+D800, a surrogate"},
      {"\xed\xaf\xbf", "U+DBFF, a surrogate"},
      {"\xed\xb0\x80", "U+DC00, a surrogate"},
      {"\xed\xbf\xbf", "U+DFFF, a surrogate"},
      {"\xed\xa0\xbd\xed\xb2\xbe", "a pair of surrogates (CESU-8)"},
      {"\xf4\x90\x80\x80", "U+110000"},
      {"\xf5\x80\x80\x80", "a lead byte above U+10FFFF"},
      {"\xf7\xbf\xbf\xbf", "U+1FFFFF"},
      {"\xf8\x88\x80\x80\x80", "five bytes"},
      {"\xfc\x84\x80\x80\x80\x80", "six bytes"},
      {"\xfe", "0xfe"},
      {"\xff", "0xff"},
      {"\xc3", "one of two bytes"},
      {"\xe2\x82", "two of three bytes"},
      {"\xf0\x9f\x92", "three of four bytes"},
      {"\xc3z", "a letter in place of the second byte"},
      {"\xe2\x82z", "a letter in place of the third byte"},
      {"\xf0\x9f\x92z", "a letter in place of the fourth byte"},
      {"\xc3\xc3\xa9", "a lead byte in place of the second byte"},
      {"good\xc3\xa9 then \xff", "bad behind good"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    CHECK_ROW(!text_is_utf8(rows[i].bytes, strlen(rows[i].bytes)), rows[i].what);
}

static void
test_utf8_looks_at_the_given_length_only(void)
{
  CU_ASSERT(text_is_utf8("ok\xff", 2));
  CU_ASSERT(text_is_utf8("a\0b", 3));
  CU_ASSERT_FALSE(text_is_utf8("a\0\xff", 3));
  CU_ASSERT_FALSE(text_is_utf8("\xe2\x82\xac", 2));
}

/* Against the definition: what encodes a code point that may be, in the shortest form, and nothing
 * else. */
static void
test_utf8_of_two_and_three_bytes_agrees_with_the_definition(void)
{
  unsigned wrong = 0;
  for (unsigned value = 0; value < 0x10000; value++) {
    char two[2] = {(char)(value >> 8), (char)value};
    unsigned char a = (unsigned char)two[0], b = (unsigned char)two[1];
    bool is_two = a >= 0xc2 && a <= 0xdf && (b & 0xc0) == 0x80;
    bool is_ascii = a < 0x80 && b < 0x80;
    wrong += text_is_utf8(two, 2) != (is_two || is_ascii);
    char three[3] = {(char)(0xe0 | value >> 12), (char)(0x80 | (value >> 6 & 0x3f)),
                     (char)(0x80 | (value & 0x3f))};
    wrong += text_is_utf8(three, 3) != (value >= 0x800 && (value < 0xd800 || value > 0xdfff));
  }
  CHECK_NUMBER(wrong, 0);
}

static void
test_a_prefix_ends_between_characters(void)
{
  static const struct {
    const char *text;
    size_t max_len;
    size_t expected;
  } cases[] = {
      {"", 4, 0},
      {"abc", 0, 0},
      {"abc", 2, 2},
      {"abc", 3, 3},
      {"abc", 9, 3},
      {"a\xe2\x82\xac"
       "b",
       1, 1},
      {"a\xe2\x82\xac"
       "b",
       2, 1},
      {"a\xe2\x82\xac"
       "b",
       3, 1},
      {"a\xe2\x82\xac"
       "b",
       4, 4},
      {"a\xe2\x82\xac"
       "b",
       5, 5},
      {"\xf0\x9f\x98\x80", 4, 4},
      {"\xf0\x9f\x98\x80", 3, 0},
      {"a\xff"
       "b",
       3, 1},
      {"a\xe2\x82", 9, 1},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    CHECK_NUMBER(text_utf8_prefix(cases[i].text, cases[i].max_len), cases[i].expected);
}

static void
test_a_line_has_neither_broken_characters_nor_controls(void)
{
  static const struct {
    const char *text;
    const char *expected;
  } cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"volume '\xe2\x82\xac'", "volume '\xe2\x82\xac'"},
      {"cut '\xe2\x82'", "cut '?'"},
      {"cut '\xf0\x9f\x98' and '\xc3'", "cut '?' and '?'"},
      {"\xff\xfe\xfd", "?"},
      {"a\xff"
       "b\xff",
       "a?b?"},
      {"two\nlines\r\n", "two lines  "},
      {"a\tb\x1b[31m\x7f", "a b?[31m?"},
      {"\x01\x02", "??"},
      {"\xc2\x85\xc2\x9b\xc2\xa0", "??\xc2\xa0"},
      {"\xff\x01\xff", "???"},
      {"\xed\xa0\x80", "?"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char text[64];
    (void)snprintf(text, sizeof(text), "%s", cases[i].text);
    text_make_line(text);
    CHECK_STRING(text, cases[i].expected);
    CU_ASSERT(text_is_utf8(text, strlen(text)));
  }
}

static void
test_plain_name_accepts_letters_digits_and_marks(void)
{
  static const char *const rows[] = {"a",      "Z",   "0",         "pool-1", "a.b_c-d",
                                     "9lives", "a..", "trailing-", "x__",    "12345678"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    CHECK_ROW(text_is_plain_name(rows[i], 10), rows[i]);
}

static void
test_plain_name_rejects_the_rest(void)
{
  static const char *const rows[] = {
      "",    ".",     "..",       "-a",        "_a", ".a",  "a/b",  "a b", "a@b",    "a:b",
      "a\n", "a\x7f", "\xc3\xa9", "a\xc3\xa9", " a", "a%s", "a\\b", "a*",  "a\x01b", "12345678901"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    CHECK_ROW(!text_is_plain_name(rows[i], 10), rows[i]);
}

static void
test_plain_name_counts_to_its_limit(void)
{
  CU_ASSERT(text_is_plain_name("abc", 3));
  CU_ASSERT_FALSE(text_is_plain_name("abcd", 3));
  CU_ASSERT_FALSE(text_is_plain_name("a", 0));
}

static void
test_starts_with(void)
{
  CU_ASSERT(text_starts_with("imprint.v.x", "imprint."));
  CU_ASSERT(text_starts_with("imprint.", "imprint."));
  CU_ASSERT(text_starts_with("x", ""));
  CU_ASSERT_FALSE(text_starts_with("imprint", "imprint."));
  CU_ASSERT_FALSE(text_starts_with("", "i"));
  CU_ASSERT_FALSE(text_starts_with("Imprint.", "imprint."));
}

static void
test_numbers_are_read_in_full(void)
{
  static const struct {
    const char *text;
    unsigned base;
    uint64_t value;
  } rows[] = {
      {"0", 10, 0},
      {"1", 10, 1},
      {"007", 10, 7},
      {"18446744073709551615", 10, UINT64_MAX},
      {"00000000000000000000000000018446744073709551615", 10, UINT64_MAX},
      {"0", 16, 0},
      {"ff", 16, 255},
      {"ffffffffffffffff", 16, UINT64_MAX},
      {"deadbeef", 16, 0xdeadbeef},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    uint64_t value = 42;
    CHECK_ROW(text_to_u64(rows[i].text, rows[i].base, &value) == 0, rows[i].text);
    CHECK_ROW(value == rows[i].value, rows[i].text);
  }
}

static void
test_numbers_reject_anything_else(void)
{
  static const struct {
    const char *text;
    unsigned base;
  } rows[] = {
      {"", 10},
      {" 1", 10},
      {"1 ", 10},
      {"+1", 10},
      {"-1", 10},
      {"-0", 10},
      {"1.0", 10},
      {"1e3", 10},
      {"0x10", 10},
      {"1a", 10},
      {"a", 10},
      {"1\n", 10},
      {"1,000", 10},
      {"", 16},
      {"0x10", 16},
      {"FF", 16},
      {"aF", 16},
      {"g", 16},
      {" ff", 16},
      {"-f", 16},
      {"18446744073709551616", 10},
      {"99999999999999999999", 10},
      {"184467440737095516150", 10},
      {"10000000000000000", 16},
      {"fffffffffffffffff", 16},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    uint64_t value = 42;
    CHECK_ROW(text_to_u64(rows[i].text, rows[i].base, &value) == -1, rows[i].text);
    CHECK_ROW(value == 42, rows[i].text);
  }
}

static void
test_sizes_know_decimal_and_binary_units(void)
{
  static const struct {
    const char *text;
    uint64_t bytes;
  } rows[] = {
      {"0", 0},
      {"512", 512},
      {"1k", 1000},
      {"2M", 2000000},
      {"3G", 3000000000},
      {"4T", 4000000000000},
      {"4Ki", 4096},
      {"4Mi", 4194304},
      {"2Gi", 2147483648},
      {"1Ti", 1ULL << 40},
      {"1Pi", 1ULL << 50},
      {"16383Pi", 16383ULL << 50},
      {"18446744073709551615", UINT64_MAX},
      {"18014398509481983Ki", UINT64_MAX - 1023},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    uint64_t bytes = 42;
    CHECK_ROW(text_to_bytes(rows[i].text, &bytes) == 0, rows[i].text);
    CHECK_ROW(bytes == rows[i].bytes, rows[i].text);
  }
}

static void
test_sizes_reject_anything_else(void)
{
  static const char *const rows[] = {"",
                                     "Ki",
                                     "k",
                                     "-1",
                                     "1.5Gi",
                                     "1 Gi",
                                     "1gi",
                                     "1GI",
                                     "1K",
                                     "1KiB",
                                     "1GB",
                                     "1Gi ",
                                     " 1Gi",
                                     "1Ei",
                                     "1E",
                                     "1Mi1",
                                     "0x1",
                                     "1e3",
                                     "1m",
                                     "1Kii",
                                     "1Gi\n",
                                     "Gi1",
                                     "one",
                                     "16384Pi",
                                     "18014398509481984Ki",
                                     "18446744073709551616",
                                     "18446744073709551615k",
                                     "18446744073710T"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    uint64_t bytes = 42;
    CHECK_ROW(text_to_bytes(rows[i], &bytes) == -1, rows[i]);
    CHECK_ROW(bytes == 42, rows[i]); /* outputs are written on success only */
  }
}

static void
test_sizes_are_shown_in_the_largest_exact_unit(void)
{
  static const struct {
    uint64_t bytes;
    const char *text;
  } rows[] = {
      {0, "0 bytes"},
      {1, "1 bytes"},
      {1023, "1023 bytes"},
      {1024, "1 KiB"},
      {1025, "1025 bytes"},
      {1536ULL << 20, "1536 MiB"},
      {1ULL << 30, "1 GiB"},
      {(1ULL << 30) + 1, "1073741825 bytes"},
      {900ULL << 40, "900 TiB"},
      {1ULL << 50, "1 PiB"},
      {1ULL << 63, "8192 PiB"},
      {UINT64_MAX, "18446744073709551615 bytes"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char buf[TEXT_BYTES_MAX];
    const char *text = text_of_bytes(rows[i].bytes, buf);
    CU_ASSERT_PTR_EQUAL(text, buf);
    CHECK_STRING(text, rows[i].text);
  }
}

static void
test_sizes_are_rounded_for_people(void)
{
  static const struct {
    uint64_t bytes;
    const char *text;
  } rows[] = {
      {0, "0 bytes"},          {1023, "1023 bytes"},           {1024, "1.0 KiB"},
      {1717986918, "1.6 GiB"}, {(uint64_t)5 << 40, "5.0 TiB"}, {UINT64_MAX, "16384.0 PiB"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char buf[TEXT_BYTES_MAX];
    const char *text = text_of_about_bytes(rows[i].bytes, buf);
    CU_ASSERT_PTR_EQUAL(text, buf);
    CHECK_STRING(text, rows[i].text);
  }
}

UNIT_MAIN("lib/base/text", UNIT_TEST(test_utf8_accepts_the_ends_of_every_range),
          UNIT_TEST(test_utf8_rejects_bad_sequences),
          UNIT_TEST(test_utf8_looks_at_the_given_length_only),
          UNIT_TEST(test_utf8_of_two_and_three_bytes_agrees_with_the_definition),
          UNIT_TEST(test_a_prefix_ends_between_characters),
          UNIT_TEST(test_a_line_has_neither_broken_characters_nor_controls),
          UNIT_TEST(test_plain_name_accepts_letters_digits_and_marks),
          UNIT_TEST(test_plain_name_rejects_the_rest),
          UNIT_TEST(test_plain_name_counts_to_its_limit), UNIT_TEST(test_starts_with),
          UNIT_TEST(test_numbers_are_read_in_full), UNIT_TEST(test_numbers_reject_anything_else),
          UNIT_TEST(test_sizes_know_decimal_and_binary_units),
          UNIT_TEST(test_sizes_reject_anything_else),
          UNIT_TEST(test_sizes_are_shown_in_the_largest_exact_unit),
          UNIT_TEST(test_sizes_are_rounded_for_people))
