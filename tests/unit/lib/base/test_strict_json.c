/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/strict_json.h"

#include <json-c/json.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static int
check(const char *text, size_t len, struct error **err)
{
  struct json_tokener *tokener = json_tokener_new();
  struct json_object *root = json_tokener_parse_ex(tokener, text, (int)len);
  json_tokener_free(tokener);
  int r = strict_json_check(text, len, root, err);
  json_object_put(root);
  return r;
}

static void
test_each_member_once(void)
{
  static const char *const rows[] = {
      "{}",
      "[]",
      "{\"a\": 1}",
      "{\"a\": 1, \"A\": 2}",
      "{\"a\": {\"a\": {\"a\": 1}}}",
      "[{\"a\": 1}, {\"a\": 1}]",
      "{\"a\": \"b:c\", \"d:e\": \"\\\":\\\\\"}",
      "{\"a\": null, \"b\": [null, {\"c\": null}]}",
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    CHECK_ROW(check(rows[i], strlen(rows[i]), NULL) == 0, rows[i]);
}

static void
test_a_member_twice_is_refused(void)
{
  static const char *const rows[] = {
      "{\"a\": 1, \"a\": 1}",
      "{\"a\": 1, \"a\": 2, \"b\": 3}",
      "{\"a\": 1, \"\\u0061\": 2}",
      "{\"a\": null, \"a\": 1}",
      "{\"x\": [{\"a\": 1, \"b\": {}, \"a\": {\"c\": 1}}]}",
      "[[{\"digest\": \"x:1\", \"digest\": \"x:2\"}]]",
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(check(rows[i], strlen(rows[i]), &err) == -1, rows[i]);
    CHECK_ROW(err && err->code == ERROR_INVALID_ARGUMENT && strstr(err->message, "twice"), rows[i]);
  }
}

static void
test_a_text_goes_on_behind_a_nul(void)
{
  static const char text[] = "{\"a\": 1}\0{\"a\": 2}";
  struct error *err = NULL;
  CHECK_NUMBER(check(text, sizeof(text) - 1, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "NUL");
}

UNIT_MAIN("base/strict_json", UNIT_TEST(test_each_member_once),
          UNIT_TEST(test_a_member_twice_is_refused), UNIT_TEST(test_a_text_goes_on_behind_a_nul))
