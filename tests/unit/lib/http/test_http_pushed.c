/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_pushed.h"

#include <curl/curl.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
test_pieces_are_handed_out_as_they_come(void)
{
  struct http_pushed pushed = {.len = 7};
  char buf[4] = "";
  CU_ASSERT_FALSE(pushed.is_wanted);
  CHECK_NUMBER(http_pushed_read(buf, 1, 3, &pushed), CURL_READFUNC_PAUSE);
  CU_ASSERT(pushed.is_wanted && pushed.is_paused);
  pushed.data = "abcde";
  pushed.data_len = 5;
  CHECK_NUMBER(http_pushed_read(buf, 1, 3, &pushed), 3);
  CHECK_STRING(buf, "abc");
  CHECK_NUMBER(http_pushed_read(buf, 1, 3, &pushed), 2);
  CU_ASSERT(memcmp(buf, "de", 2) == 0);
  CHECK_NUMBER(pushed.data_len, 0);
  CHECK_NUMBER(pushed.given, 5);
  CHECK_NUMBER(http_pushed_read(buf, 1, 3, &pushed), CURL_READFUNC_PAUSE);
  pushed.data = "fg";
  pushed.data_len = 2;
  CHECK_NUMBER(http_pushed_read(buf, 1, 3, &pushed), 2);
  CHECK_NUMBER(http_pushed_read(buf, 1, 3, &pushed), 0); /* that was all */
}

static void
test_a_body_may_be_empty(void)
{
  struct http_pushed pushed = {0};
  char buf[4];
  CHECK_NUMBER(http_pushed_read(buf, 1, 3, &pushed), 0);
  CU_ASSERT(pushed.is_wanted);
}

UNIT_MAIN("lib/http/http_pushed", UNIT_TEST(test_pieces_are_handed_out_as_they_come),
          UNIT_TEST(test_a_body_may_be_empty))
