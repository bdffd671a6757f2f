/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_error.h"

#include <string.h>

#include "tests/unit/unit.h"

static void
check_status(long status, const char *body, enum error_code code, const char *text)
{
  struct buffer buffer = {0};
  (void)buffer_append_text(&buffer, body);
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(http_status_error_set(&err, status, "URL", &buffer), -1);
  CHECK_ERROR(&err, code, text);
  buffer_clear(&buffer);
}

static void
test_a_status_has_a_code(void)
{
  check_status(400, "", ERROR_INVALID_ARGUMENT, "URL: the server answered 400");
  check_status(401, "", ERROR_UNAUTHENTICATED, "401 (credentials are needed, or wrong)");
  check_status(403, "", ERROR_PERMISSION_DENIED, "403 (forbidden)");
  check_status(404, "", ERROR_NOT_FOUND, "404 (not found)");
  check_status(405, "", ERROR_UNIMPLEMENTED, "405");
  check_status(407, "", ERROR_UNAUTHENTICATED, "the proxy");
  check_status(409, "", ERROR_ABORTED, "409");
  check_status(410, "", ERROR_NOT_FOUND, "410");
  check_status(412, "", ERROR_FAILED_PRECONDITION, "has changed");
  check_status(416, "", ERROR_OUT_OF_RANGE, "416");
  check_status(429, "", ERROR_UNAVAILABLE, "too many requests");
  check_status(500, "", ERROR_UNAVAILABLE, "500");
  check_status(501, "", ERROR_UNIMPLEMENTED, "501");
  check_status(503, "", ERROR_UNAVAILABLE, "503");
  check_status(507, "", ERROR_RESOURCE_EXHAUSTED, "507");
  check_status(304, "", ERROR_UNKNOWN, "304");
}

static void
test_the_reason_is_quoted_on_one_line(void)
{
  check_status(400, "no\n\n such\r\nthing", ERROR_INVALID_ARGUMENT, "400: no such thing");
  check_status(404,
               "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>a &amp; b</Message>",
               ERROR_NOT_FOUND, "404 (not found): NoSuchKey: a & b");
}

static void
test_what_is_no_reason_is_left_out(void)
{
  static const char *const bodies[] = {"<html><body>oops</body></html>", "\xff\xfe\xfd garbage",
                                       ""};
  for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
    struct buffer buffer = {0};
    (void)buffer_append_text(&buffer, bodies[i]);
    CLEANUP(error_freep) struct error *err = NULL;
    (void)http_status_error_set(&err, 500, "URL", &buffer);
    CHECK_STRING(err->message, "URL: the server answered 500");
    buffer_clear(&buffer);
  }
  struct buffer binary = {0};
  (void)buffer_append(&binary, "a\0b", 3);
  CLEANUP(error_freep) struct error *err = NULL;
  (void)http_status_error_set(&err, 500, "URL", &binary);
  CHECK_STRING(err->message, "URL: the server answered 500");
  buffer_clear(&binary);
}

static void
test_a_long_reason_is_cut_between_characters(void)
{
  struct buffer buffer = {0};
  for (int i = 0; i < 100; i++)
    (void)buffer_append_text(&buffer, "\xe2\x82\xac");
  CLEANUP(error_freep) struct error *err = NULL;
  (void)http_status_error_set(&err, 500, "URL", &buffer);
  CHECK_NUMBER(strlen(err->message), strlen("URL: the server answered 500: ") + 198);
  buffer_clear(&buffer);
}

static void
test_curl_codes_are_told_apart(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(http_error_set(&err, CURLE_COULDNT_CONNECT, "port closed", "URL"), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "URL: port closed");
  (void)http_error_set(&err, CURLE_PEER_FAILED_VERIFICATION, "self-signed", "URL");
  CHECK_ERROR(&err, ERROR_FAILED_PRECONDITION, "give that as the CA bundle");
  (void)http_error_set(&err, CURLE_URL_MALFORMAT, "", "URL");
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "URL: ");
  (void)http_error_set(&err, CURLE_WEIRD_SERVER_REPLY, NULL, "URL");
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "URL: ");
}

static void
test_what_may_pass_is_transient(void)
{
  CU_ASSERT(http_status_is_transient(429) && http_status_is_transient(500) &&
            http_status_is_transient(503) && http_status_is_transient(408));
  CU_ASSERT_FALSE(http_status_is_transient(404) || http_status_is_transient(501) ||
                  http_status_is_transient(200) || http_status_is_transient(600));
  CU_ASSERT(http_error_is_transient(CURLE_RECV_ERROR) &&
            http_error_is_transient(CURLE_PARTIAL_FILE));
  CU_ASSERT_FALSE(http_error_is_transient(CURLE_PEER_FAILED_VERIFICATION) ||
                  http_error_is_transient(CURLE_URL_MALFORMAT));
}

UNIT_MAIN("lib/http/http_error", UNIT_TEST(test_a_status_has_a_code),
          UNIT_TEST(test_the_reason_is_quoted_on_one_line),
          UNIT_TEST(test_what_is_no_reason_is_left_out),
          UNIT_TEST(test_a_long_reason_is_cut_between_characters),
          UNIT_TEST(test_curl_codes_are_told_apart), UNIT_TEST(test_what_may_pass_is_transient))
