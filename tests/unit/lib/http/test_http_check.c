/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_check.h"

#include <string.h>

#include "tests/unit/unit.h"

#define T1 "Sun, 09 Sep 2001 01:46:40 GMT"
#define T2 "Sun, 09 Sep 2001 01:46:41 GMT"

struct row {
  const char *lines; /* separated by '\n' */
  int code;          /* 0: it is fine */
  const char *text;
};

static void
check_rows(const struct http_request *request, const struct row *rows, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    struct http_head head;
    http_head_init(&head);
    for (const char *at = rows[i].lines; *at;) {
      size_t len = strcspn(at, "\n");
      http_head_line(&head, at, len);
      at += len + (at[len] == '\n');
    }
    http_head_line(&head, "\r\n", 2);
    CLEANUP(error_freep) struct error *err = NULL;
    int r = http_check_head(request, &head, "URL", &err);
    CHECK_ROW(r == (rows[i].code ? -1 : 0), rows[i].lines);
    if (rows[i].code)
      CHECK_ERROR(&err, (enum error_code)rows[i].code, rows[i].text);
    http_head_clear(&head);
  }
}

#define CHECK_ROWS(request, rows) check_rows((request), (rows), sizeof(rows) / sizeof((rows)[0]))

static void
test_a_range_is_what_was_asked_for(void)
{
  const struct http_request request = {.has_range = true, .range_offset = 100, .range_len = 100};
  static const struct row rows[] = {
      {"HTTP/1.1 206 P\nContent-Range: bytes 100-199/1000\nContent-Length: 100", 0, ""},
      {"HTTP/1.1 206 P\nContent-Range: bytes 100-199/*", 0, ""},
      {"HTTP/1.1 200 OK\nContent-Length: 1000", ERROR_UNIMPLEMENTED, "the whole file"},
      {"HTTP/1.1 206 P\nContent-Length: 100", ERROR_DATA_LOSS, "without Content-Range"},
      {"HTTP/1.1 204 P\nContent-Range: bytes 100-199/1000", ERROR_DATA_LOSS, "Content-Range"},
      {"HTTP/1.1 206 P\nContent-Range: bytes */1000", ERROR_DATA_LOSS, "without Content-Range"},
      {"HTTP/1.1 206 P\nContent-Range: bytes 0-99/1000", ERROR_DATA_LOSS, "from 0 to 99"},
      {"HTTP/1.1 206 P\nContent-Range: bytes 100-198/1000", ERROR_DATA_LOSS, "from 100 to 198"},
      {"HTTP/1.1 206 P\nContent-Range: bytes 100-200/1000", ERROR_DATA_LOSS, "from 100 to 200"},
      {"HTTP/1.1 206 P\nContent-Range: bytes 100-199/1000\nContent-Length: 99", ERROR_DATA_LOSS,
       "do not agree"},
      {"HTTP/1.1 206 P\nContent-Range: bytes 100-199/1000\nContent-Encoding: gzip", ERROR_DATA_LOSS,
       "Content-Encoding"},
      {"HTTP/1.1 206 P\nContent-Range: bytes 100-199", ERROR_DATA_LOSS, "malformed Content-Range"},
  };
  CHECK_ROWS(&request, rows);
}

static void
test_a_part_is_encoded_as_before(void)
{
  struct http_request request = {.has_range = true, .range_len = 10, .if_encoding = "gzip"};
  static const struct row rows[] = {
      {"HTTP/1.1 206 P\nContent-Range: bytes 0-9/100\nContent-Encoding: GZIP", 0, ""},
      {"HTTP/1.1 206 P\nContent-Range: bytes 0-9/100", 0, ""},
      {"HTTP/1.1 206 P\nContent-Range: bytes 0-9/100\nContent-Encoding: br", ERROR_DATA_LOSS,
       "Content-Encoding"},
  };
  CHECK_ROWS(&request, rows);
  request.if_encoding = "*";
  static const struct row any[] = {
      {"HTTP/1.1 206 P\nContent-Range: bytes 0-9/100\nContent-Encoding: br", 0, ""},
  };
  CHECK_ROWS(&request, any);
}

static void
test_a_range_to_the_end_ends_there(void)
{
  const struct http_request request = {.has_range = true, .range_offset = 100};
  static const struct row rows[] = {
      {"HTTP/1.1 206 P\nContent-Range: bytes 100-999/1000", 0, ""},
      {"HTTP/1.1 206 P\nContent-Range: bytes 100-998/1000", ERROR_DATA_LOSS, "from 100 to 998"},
      {"HTTP/1.1 206 P\nContent-Range: bytes 100-999/*", ERROR_DATA_LOSS, "cannot be right"},
      {"HTTP/1.1 200 OK", ERROR_UNIMPLEMENTED, "the whole file"},
  };
  CHECK_ROWS(&request, rows);
}

static void
test_the_whole_will_do_when_said_so(void)
{
  const struct http_request request = {.has_range = true, .or_whole = true};
  static const struct row rows[] = {
      {"HTTP/1.1 200 OK", 0, ""},
      {"HTTP/1.1 206 P\nContent-Range: bytes 0-9/10", 0, ""},
      {"HTTP/1.1 206 P\nContent-Range: bytes 1-9/10", ERROR_DATA_LOSS, "from 1 to 9"},
  };
  CHECK_ROWS(&request, rows);
}

static void
test_a_part_is_not_the_whole(void)
{
  const struct http_request request = {0};
  static const struct row rows[] = {
      {"HTTP/1.1 200 OK", 0, ""},
      {"HTTP/1.1 200 OK\nContent-Encoding: gzip", 0, ""},
      {"HTTP/1.1 206 P\nContent-Range: bytes 0-9/10", ERROR_DATA_LOSS, "the whole was asked for"},
  };
  CHECK_ROWS(&request, rows);
}

static void
test_a_strong_etag_settles_it(void)
{
  const struct http_request request = {
      .if_match = "\"a\"", .if_unmodified_since = T1, .if_total = 10};
  static const struct row rows[] = {
      {"HTTP/1.1 200 OK\nETag: \"a\"\nContent-Length: 10\nLast-Modified: " T1, 0, ""},
      {"HTTP/1.1 200 OK\nETag: \"a\"\nLast-Modified: " T2, 0, ""},
      {"HTTP/1.1 200 OK\nETag: \"b\"\nLast-Modified: " T1, ERROR_FAILED_PRECONDITION, "is \"b\""},
      {"HTTP/1.1 200 OK\nLast-Modified: " T1, ERROR_FAILED_PRECONDITION, "not given any more"},
      {"HTTP/1.1 200 OK\nETag: \"a\"\nContent-Length: 11", ERROR_FAILED_PRECONDITION,
       "its size was 10 bytes and is 11"},
      {"HTTP/1.1 416 R\nContent-Range: bytes */5", ERROR_FAILED_PRECONDITION, "is 5"},
      {"HTTP/1.1 416 R\nContent-Range: bytes */10", 0, ""},
      {"HTTP/1.1 416 R", 0, ""},
  };
  CHECK_ROWS(&request, rows);
}

static void
test_with_a_weak_etag_time_and_size_count(void)
{
  const struct http_request request = {
      .if_match = "W/\"a\"", .if_unmodified_since = T1, .if_total = 10};
  static const struct row rows[] = {
      {"HTTP/1.1 200 OK\nETag: W/\"a\"\nContent-Length: 10\nLast-Modified: " T1, 0, ""},
      {"HTTP/1.1 200 OK\nETag: W/\"a\"\nLast-Modified: " T2, ERROR_FAILED_PRECONDITION,
       "Last-Modified"},
      {"HTTP/1.1 200 OK\nETag: \"a\"\nLast-Modified: " T2, ERROR_FAILED_PRECONDITION,
       "Last-Modified"},
      {"HTTP/1.1 200 OK\nETag: W/\"a\"", ERROR_FAILED_PRECONDITION, "not given any more"},
      {"HTTP/1.1 200 OK\nETag: W/\"b\"\nLast-Modified: " T1, ERROR_FAILED_PRECONDITION, "ETag"},
      {"HTTP/1.1 200 OK\nETag: W/\"a\"\nContent-Length: 9\nLast-Modified: " T1,
       ERROR_FAILED_PRECONDITION, "size"},
  };
  CHECK_ROWS(&request, rows);
}

static void
test_without_an_etag_time_and_size_count(void)
{
  const struct http_request request = {.if_unmodified_since = T1, .if_total = 10};
  static const struct row rows[] = {
      {"HTTP/1.1 200 OK\nETag: \"new\"\nContent-Length: 10\nLast-Modified: " T1, 0, ""},
      {"HTTP/1.1 200 OK\nContent-Length: 10\nLast-Modified: " T2, ERROR_FAILED_PRECONDITION,
       "Last-Modified"},
      {"HTTP/1.1 200 OK\nContent-Length: 11\nLast-Modified: " T1, ERROR_FAILED_PRECONDITION,
       "size"},
  };
  CHECK_ROWS(&request, rows);
}

UNIT_MAIN("lib/http/http_check", UNIT_TEST(test_a_range_is_what_was_asked_for),
          UNIT_TEST(test_a_part_is_encoded_as_before),
          UNIT_TEST(test_a_range_to_the_end_ends_there),
          UNIT_TEST(test_the_whole_will_do_when_said_so), UNIT_TEST(test_a_part_is_not_the_whole),
          UNIT_TEST(test_a_strong_etag_settles_it),
          UNIT_TEST(test_with_a_weak_etag_time_and_size_count),
          UNIT_TEST(test_without_an_etag_time_and_size_count))
