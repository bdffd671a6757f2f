/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_request.h"

#include <stdlib.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static void
test_a_copy_outlives_what_it_was_made_of(void)
{
  char *url = xstrdup("http://a/");
  char *header = xstrdup("A: b");
  const char *headers[] = {header, NULL};
  const struct http_request request = {
      .method = "GET", .url = url, .headers = headers, .if_match = "\"e\"", .if_total = 7};
  struct http_request copy;
  http_request_copy(&copy, &request);
  free(url);
  free(header);
  CHECK_STRING(copy.url, "http://a/");
  CHECK_STRING(copy.headers[0], "A: b");
  CHECK_STRING(copy.headers[1], NULL);
  CHECK_STRING(copy.if_match, "\"e\"");
  CHECK_STRING(copy.bearer, NULL);
  CHECK_NUMBER(copy.if_total, 7);
  http_request_copy_clear(&copy);
}

static void
test_a_label_has_no_secrets(void)
{
  const struct http_request request = {.url = "https://u:p@a.example/x?X-Signature=s"};
  CLEANUP(freep) char *label = http_request_label(&request);
  CHECK_STRING(label, "https://a.example/x");
  const struct http_request malformed = {.url = "https://u:p@"};
  CLEANUP(freep) char *other = http_request_label(&malformed);
  CHECK_STRING(other, "a malformed URL");
}

UNIT_MAIN("lib/http/http_request", UNIT_TEST(test_a_copy_outlives_what_it_was_made_of),
          UNIT_TEST(test_a_label_has_no_secrets))
