/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_header.h"

#include "tests/unit/unit.h"

static void
test_content_range_is_read(void)
{
  static const struct {
    const char *value;
    struct http_content_range range;
  } rows[] = {
      {"bytes 0-0/1", {true, 0, 0, 1}},
      {"bytes 0-99/1000", {true, 0, 99, 1000}},
      {"Bytes 900-999/1000", {true, 900, 999, 1000}},
      {"bytes 5-9/*", {true, 5, 9, UINT64_MAX}},
      {"bytes */1000", {false, 0, 0, 1000}},
      {"bytes */0", {false, 0, 0, 0}},
      {"bytes 18446744073709551613-18446744073709551613/18446744073709551614",
       {true, UINT64_MAX - 2, UINT64_MAX - 2, UINT64_MAX - 1}},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct http_content_range range = {0};
    CHECK_ROW(http_content_range_parse(rows[i].value, &range) == 0, rows[i].value);
    CHECK_ROW(range.has_bytes == rows[i].range.has_bytes, rows[i].value);
    CHECK_ROW(range.first == rows[i].range.first, rows[i].value);
    CHECK_ROW(range.last == rows[i].range.last, rows[i].value);
    CHECK_ROW(range.total == rows[i].range.total, rows[i].value);
  }
}

static void
test_content_range_rejects_anything_else(void)
{
  static const char *const rows[] = {
      "",
      "bytes",
      "bytes ",
      "bytes=0-99/1000",
      "items 0-99/1000",
      "bytes 0-99",
      "bytes 0-99/",
      "bytes 0-/1000",
      "bytes -99/1000",
      "bytes 0 - 99/1000",
      "bytes 0-99/1000 ",
      "bytes 0-99/1000x",
      "bytes  0-99/1000",
      "bytes +0-99/1000",
      "bytes 0x0-0x9/10",
      "bytes */*",
      "bytes *",
      "bytes 99-0/1000",
      "bytes 0-1000/1000",
      "bytes 0-99/99",
      "bytes 0-99/0",
      "bytes 0-18446744073709551615/*",
      "bytes 0-18446744073709551616/*",
      "bytes 0-99/18446744073709551615",
      "bytes 0-99/18446744073709551616",
      "bytes 0-99/1000, bytes 100-199/1000",
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct http_content_range range = {.first = 42};
    CHECK_ROW(http_content_range_parse(rows[i], &range) == -1, rows[i]);
    CHECK_ROW(range.first == 42, rows[i]);
  }
}

static void
test_etags_are_strong_weak_or_none(void)
{
  static const struct {
    const char *etag;
    enum http_etag_kind kind;
  } rows[] = {
      {"\"abc\"", HTTP_ETAG_STRONG},
      {"\"5f3a-1c2:!#~\"", HTTP_ETAG_STRONG},
      {"W/\"abc\"", HTTP_ETAG_WEAK},
      {"abc", HTTP_ETAG_WEAK},
      {"W/abc", HTTP_ETAG_WEAK},
      {"w/\"abc\"", HTTP_ETAG_NONE},
      {"", HTTP_ETAG_NONE},
      {"\"\"", HTTP_ETAG_NONE},
      {"W/", HTTP_ETAG_NONE},
      {"W/\"\"", HTTP_ETAG_NONE},
      {"\"", HTTP_ETAG_NONE},
      {"\"abc", HTTP_ETAG_NONE},
      {"abc\"", HTTP_ETAG_NONE},
      {"\"a\"b\"", HTTP_ETAG_NONE},
      {"\"a b\"", HTTP_ETAG_NONE},
      {"\"a\tb\"", HTTP_ETAG_NONE},
      {"\"\xc3\xa9\"", HTTP_ETAG_NONE},
      {"\"a\x7f\"", HTTP_ETAG_NONE},
      {"\"a\", \"b\"", HTTP_ETAG_NONE},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    CHECK_ROW(http_etag_kind(rows[i].etag) == rows[i].kind, rows[i].etag);
}

static void
test_etags_match_but_for_weakness_and_quotes(void)
{
  CU_ASSERT(http_etag_matches("\"a\"", "\"a\""));
  CU_ASSERT(http_etag_matches("W/\"a\"", "\"a\""));
  CU_ASSERT(http_etag_matches("\"a\"", "a"));
  CU_ASSERT_FALSE(http_etag_matches("\"a\"", "\"b\""));
  CU_ASSERT_FALSE(http_etag_matches("\"a\"", "\"ab\""));
  CU_ASSERT_FALSE(http_etag_matches("\"A\"", "\"a\""));
  CU_ASSERT_FALSE(http_etag_matches("", ""));
  CU_ASSERT_FALSE(http_etag_matches("\"\"", "\"\""));
}

static void
test_retry_after_is_seconds_or_a_date(void)
{
  static const struct {
    const char *value;
    uint64_t seconds;
  } rows[] = {
      {"0", 0},
      {"120", 120},
      {"18446744073709551615", UINT64_MAX},
      {"Sun, 09 Sep 2001 01:46:40 GMT", 0}, /* 1000000000 */
      {"Sun, 09 Sep 2001 01:47:10 GMT", 30},
      {"Sun, 09 Sep 2001 01:46:10 GMT", 0},
      {"Sunday, 09-Sep-01 01:47:10 GMT", 30},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    uint64_t seconds = 42;
    CHECK_ROW(http_retry_after_parse(rows[i].value, 1000000000, &seconds) == 0, rows[i].value);
    CHECK_ROW(seconds == rows[i].seconds, rows[i].value);
  }
}

static void
test_retry_after_rejects_anything_else(void)
{
  static const char *const rows[] = {"", "soon", "-1", "1.5", "1 minute", "18446744073709551616"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    uint64_t seconds = 42;
    CHECK_ROW(http_retry_after_parse(rows[i], 1000000000, &seconds) == -1, rows[i]);
    CHECK_ROW(seconds == 42, rows[i]);
  }
}

UNIT_MAIN("lib/http/http_header", UNIT_TEST(test_content_range_is_read),
          UNIT_TEST(test_content_range_rejects_anything_else),
          UNIT_TEST(test_etags_are_strong_weak_or_none),
          UNIT_TEST(test_etags_match_but_for_weakness_and_quotes),
          UNIT_TEST(test_retry_after_is_seconds_or_a_date),
          UNIT_TEST(test_retry_after_rejects_anything_else))
