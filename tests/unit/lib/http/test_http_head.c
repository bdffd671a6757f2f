/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_head.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
feed(struct http_head *head, const char *const *lines)
{
  for (; *lines; lines++)
    http_head_line(head, *lines, strlen(*lines));
}

#define FEED(head, ...) feed((head), (const char *const[]){__VA_ARGS__, NULL})

static void
test_fields_that_matter_are_kept(void)
{
  struct http_head head;
  http_head_init(&head);
  FEED(&head, "HTTP/1.1 206 Partial Content\r\n", "Server: x\r\n", "etag: \"e\"\r\n",
       "Last-Modified:Sun, 09 Sep 2001 01:46:40 GMT\r\n", "CONTENT-TYPE: \t text/plain \r\n",
       "Content-Length: 100\r\n", "Content-Range: bytes 0-99/1000\r\n", "Accept-Ranges: bytes\r\n",
       "Location: /elsewhere\r\n", "Docker-Content-Digest: sha256:00\r\n", "Retry-After: 3\r\n",
       "WWW-Authenticate: Basic realm=b\r\n", "WWW-Authenticate: Bearer realm=r\r\n",
       "Transfer-Encoding: chunked\r\n", "Content-Encoding: gzip\r\n");
  CU_ASSERT_FALSE(head.is_complete);
  FEED(&head, "\r\n");
  CU_ASSERT(head.is_complete);
  CU_ASSERT_PTR_NULL(head.fault);
  CHECK_NUMBER(head.status, 206);
  CHECK_STRING(head.etag, "\"e\"");
  CHECK_STRING(head.last_modified, "Sun, 09 Sep 2001 01:46:40 GMT");
  CHECK_STRING(head.content_type, "text/plain");
  CHECK_NUMBER(head.content_length, 100);
  CU_ASSERT(head.has_range && head.range.has_bytes);
  CHECK_NUMBER(head.range.total, 1000);
  CU_ASSERT(head.accepts_ranges && head.is_chunked);
  CHECK_STRING(head.location, "/elsewhere");
  CHECK_STRING(head.docker_digest, "sha256:00");
  CHECK_STRING(head.retry_after, "3");
  CHECK_STRING(head.www_authenticate, "Basic realm=b, Bearer realm=r");
  CHECK_STRING(head.content_encoding, "gzip");
  http_head_clear(&head);
}

static void
test_what_is_not_said_is_known(void)
{
  struct http_head head;
  http_head_init(&head);
  FEED(&head, "HTTP/2 200\r\n", "Content-Encoding: identity\r\n", "Accept-Ranges: none\r\n",
       "\r\n");
  CU_ASSERT(head.is_complete);
  CHECK_NUMBER(head.status, 200);
  CU_ASSERT(head.content_length == UINT64_MAX);
  CU_ASSERT_FALSE(head.has_range || head.accepts_ranges || head.is_chunked);
  CU_ASSERT_PTR_NULL(head.content_encoding);
  CU_ASSERT_PTR_NULL(head.etag);
  http_head_clear(&head);
}

static void
test_what_ends_with_its_connection(void)
{
  static const struct {
    const char *status;
    const char *field;
    bool is_unframed;
  } table[] = {{"HTTP/1.0 200 OK\r\n", "Server: x\r\n", true},
               {"HTTP/1.1 200 OK\r\n", "Connection: close\r\n", true},
               {"HTTP/1.1 200 OK\r\n", "Content-Length: 0\r\n", false},
               {"HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n", false},
               {"HTTP/1.1 206 Part\r\n", "Content-Range: bytes 0-9/10\r\n", false}};
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
    struct http_head head;
    http_head_init(&head);
    FEED(&head, table[i].status, table[i].field, "\r\n");
    CHECK_ROW(http_head_is_unframed(&head) == table[i].is_unframed, table[i].field);
    http_head_clear(&head);
  }
}

static void
test_encodings_that_say_nothing_are_left_out(void)
{
  struct http_head head;
  http_head_init(&head);
  FEED(&head, "HTTP/1.1 200 OK\r\n", "Content-Encoding: aws-chunked ,Identity\r\n");
  CU_ASSERT_PTR_NULL(head.content_encoding);
  FEED(&head, "Content-Encoding: , gzip,aws-chunked\r\n", "Content-Encoding: br\r\n");
  CHECK_STRING(head.content_encoding, "gzip, br");
  http_head_clear(&head);
}

static void
test_an_interim_answer_is_forgotten(void)
{
  struct http_head head;
  http_head_init(&head);
  FEED(&head, "HTTP/1.1 103 Early Hints\r\n", "ETag: \"old\"\r\n", "\r\n");
  CU_ASSERT_FALSE(head.is_complete);
  FEED(&head, "HTTP/1.1 200 OK\r\n", "\r\n");
  CU_ASSERT(head.is_complete);
  CHECK_STRING(head.etag, NULL);
  http_head_clear(&head);
}

static void
test_trailers_change_nothing(void)
{
  struct http_head head;
  http_head_init(&head);
  FEED(&head, "HTTP/1.1 200 OK\r\n", "ETag: \"e\"\r\n", "\r\n", "ETag: \"f\"\r\n",
       "HTTP/1.1 500 Oops\r\n", "Content-Length: x\r\n");
  CHECK_NUMBER(head.status, 200);
  CHECK_STRING(head.etag, "\"e\"");
  CU_ASSERT_PTR_NULL(head.fault);
  http_head_clear(&head);
}

static void
test_faults_are_remembered(void)
{
  static const struct {
    const char *lines[3];
    const char *what;
  } rows[] = {
      {{"Content-Range: bytes 0-99\r\n"}, "a Content-Range without its total"},
      {{"Content-Range: bytes 0-9/10\r\n", "Content-Range: bytes 0-9/10\r\n"}, "two of them"},
      {{"Content-Length: 10\r\n", "Content-Length: 11\r\n"}, "two lengths"},
      {{"Content-Length: -1\r\n"}, "a negative length"},
      {{"Content-Length: 10, 10\r\n"}, "a list of lengths"},
      {{"Content-Length: 18446744073709551615\r\n"}, "a length that means none"},
      {{"ETag: \"a\"\r\n", "ETag: \"b\"\r\n"}, "two ETags"},
      {{"Location: /a\r\n", "Location: /b\r\n"}, "two Locations"},
      {{"Location: /a\x1b[2J\r\n"}, "an escape sequence"},
      {{"Last-Modified: a\r\n", "Last-Modified: b\r\n"}, "two times"},
      {{"Docker-Content-Digest: a\r\n", "Docker-Content-Digest: b\r\n"}, "two digests"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct http_head head;
    http_head_init(&head);
    FEED(&head, "HTTP/1.1 200 OK\r\n");
    feed(&head, rows[i].lines);
    FEED(&head, "\r\n");
    CHECK_ROW(head.is_complete, rows[i].what);
    CHECK_ROW(head.fault != NULL, rows[i].what);
    http_head_clear(&head);
  }
}

static void
test_the_same_said_twice_is_no_fault(void)
{
  struct http_head head;
  http_head_init(&head);
  FEED(&head, "HTTP/1.1 200 OK\r\n", "ETag: \"a\"\r\n", "ETag: \"a\"\r\n", "Content-Length: 1\r\n",
       "Content-Length: 1\r\n", "ETag: not a tag\r\n", "\r\n");
  CU_ASSERT_PTR_NULL(head.fault);
  CHECK_STRING(head.etag, "\"a\"");
  http_head_clear(&head);
}

static void
test_lines_that_are_no_fields_are_passed_over(void)
{
  struct http_head head;
  http_head_init(&head);
  FEED(&head, "HTTP/1.1 200 OK\r\n", "nonsense\r\n", ": x\r\n", " folded: y\r\n", "ETa: \"x\"\r\n",
       "ETags: \"x\"\r\n", "\n");
  CU_ASSERT(head.is_complete);
  CU_ASSERT_PTR_NULL(head.fault);
  CHECK_STRING(head.etag, NULL);
  http_head_clear(&head);
}

static void
test_status_lines_are_read_strictly(void)
{
  static const char *const rows[] = {"HTTP/1.1 20\r\n", "HTTP/1.1 abc\r\n", "HTTP/1.1  200\r\n"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct http_head head;
    http_head_init(&head);
    feed(&head, (const char *const[]){rows[i], "\r\n", NULL});
    CHECK_ROW(!head.is_complete && head.status == 0 && head.fault, rows[i]);
    http_head_clear(&head);
  }
}

static void
test_too_many_headers_are_a_fault(void)
{
  struct http_head head;
  http_head_init(&head);
  FEED(&head, "HTTP/1.1 200 OK\r\n");
  for (size_t i = 0; i < HTTP_HEAD_MAX_BYTES / 8; i++)
    FEED(&head, "X: 45\r\n ");
  CU_ASSERT_PTR_NULL(head.fault);
  FEED(&head, "X: one more\r\n");
  CHECK_STRING(head.fault, "too many headers");
  http_head_clear(&head);
}

UNIT_MAIN("lib/http/http_head", UNIT_TEST(test_fields_that_matter_are_kept),
          UNIT_TEST(test_what_is_not_said_is_known), UNIT_TEST(test_what_ends_with_its_connection),
          UNIT_TEST(test_encodings_that_say_nothing_are_left_out),
          UNIT_TEST(test_an_interim_answer_is_forgotten), UNIT_TEST(test_trailers_change_nothing),
          UNIT_TEST(test_faults_are_remembered), UNIT_TEST(test_the_same_said_twice_is_no_fault),
          UNIT_TEST(test_lines_that_are_no_fields_are_passed_over),
          UNIT_TEST(test_status_lines_are_read_strictly),
          UNIT_TEST(test_too_many_headers_are_a_fault))
