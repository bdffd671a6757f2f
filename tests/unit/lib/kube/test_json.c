/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/json.h"

#include <string.h>

#include "tests/unit/unit.h"

static struct json_object *
parse(const char *text)
{
  struct json_object *value = NULL;
  if (json_parse(text, strlen(text), &value, NULL) < 0)
    return NULL;
  return value;
}

static void
test_a_value_and_nothing_behind_it(void)
{
  static const char *const bad[] = {"", "{", "{}x", "{} {}", "{\"a\":}", "nul", "[1,]x"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    struct json_object *value = NULL;
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(json_parse(bad[i], strlen(bad[i]), &value, &err) < 0, bad[i]);
    CHECK_ROW(err && err->code == ERROR_INVALID_ARGUMENT, bad[i]);
  }
  CLEANUP(json_object_putp) struct json_object *good = parse(" {\"a\": 1} \n");
  CHECK_NUMBER(json_number(good, "a"), 1);
}

static void
test_ways_lead_to_values_of_their_type_or_to_nothing(void)
{
  CLEANUP(json_object_putp)
  struct json_object *o =
      parse("{\"a\":{\"b\":\"text\",\"n\":7,\"f\":true,\"l\":[1,2],\"z\":null}}");
  CHECK_STRING(json_text(o, "a", "b"), "text");
  CHECK_NUMBER(json_number(o, "a", "n"), 7);
  CU_ASSERT_TRUE(json_flag(o, "a", "f"));
  CHECK_NUMBER(json_count(json_at(o, "a", "l")), 2);
  CU_ASSERT_PTR_NULL(json_text(o, "a", "n"));
  CU_ASSERT_PTR_NULL(json_text(o, "a", "b", "c"));
  CU_ASSERT_PTR_NULL(json_text(o, "x", "y"));
  CU_ASSERT_PTR_NULL(json_at(o, "a", "z"));
  CHECK_NUMBER(json_number(o, "a", "b"), 0);
  CU_ASSERT_FALSE(json_flag(o, "a", "n"));
  CU_ASSERT_PTR_NULL(json_item(json_at(o, "a", "l"), 2));
  CU_ASSERT_PTR_NULL(json_text(NULL, "a"));
}

static void
test_values_are_put_where_nothing_was(void)
{
  CLEANUP(json_object_putp) struct json_object *o = json_object_new_object();
  json_put_text(o, "one", "a", "b", "c");
  json_put_text(o, "two", "a", "b", "d");
  json_put_text(o, "three", "a", "b", "c");
  CHECK_STRING(json_text(o, "a", "b", "c"), "three");
  CHECK_STRING(json_text(o, "a", "b", "d"), "two");
}

static void
test_a_patch_that_would_change_nothing_is_told(void)
{
  static const struct {
    const char *present;
    const char *wanted;
    bool is_covered;
  } rows[] = {
      {"{\"a\":1,\"b\":2}", "{\"a\":1}", true},
      {"{\"a\":1,\"b\":2}", "{\"a\":2}", false},
      {"{\"a\":{\"x\":1,\"y\":2}}", "{\"a\":{\"y\":2}}", true},
      {"{\"a\":{\"x\":1}}", "{\"a\":{\"y\":2}}", false},
      {"{\"a\":[1,2]}", "{\"a\":[1,2]}", true},
      {"{\"a\":[1,2]}", "{\"a\":[1]}", false},
      {"{}", "{\"a\":null}", true},
      {"{\"a\":1}", "{\"a\":null}", false},
      {"{\"a\":null}", "{\"a\":null}", true},
      {"{\"a\":1}", "{\"a\":{\"b\":1}}", false},
      {"{}", "{}", true},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(json_object_putp) struct json_object *present = parse(rows[i].present);
    CLEANUP(json_object_putp) struct json_object *wanted = parse(rows[i].wanted);
    CHECK_ROW(json_covers(present, wanted) == rows[i].is_covered, rows[i].wanted);
  }
}

static void
test_what_is_wanted_no_more_is_taken_away(void)
{
  static const struct {
    const char *before;
    const char *after;
    const char *patch;
  } rows[] = {
      {"{\"a\":1,\"b\":2}", "{\"a\":1}", "{\"a\":1,\"b\":null}"},
      {"{\"a\":1}", "{\"a\":2,\"b\":3}", "{\"a\":2,\"b\":3}"},
      {"{\"s\":{\"http\":{\"url\":\"u\"}}}", "{\"s\":{\"s3\":{}}}",
       "{\"s\":{\"s3\":{},\"http\":null}}"},
      {"{\"a\":{\"x\":1}}", "{\"a\":[1]}", "{\"a\":[1]}"},
      {"{\"a\":[1,2]}", "{\"a\":[1]}", "{\"a\":[1]}"},
      {"{\"a\":null}", "{}", "{\"a\":null}"},
      {"7", "{\"a\":1}", "{\"a\":1}"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(json_object_putp) struct json_object *before = parse(rows[i].before);
    CLEANUP(json_object_putp) struct json_object *after = parse(rows[i].after);
    CLEANUP(json_object_putp) struct json_object *patch = json_patch_between(before, after);
    CLEANUP(json_object_putp) struct json_object *wanted = parse(rows[i].patch);
    CHECK_ROW(json_object_equal(patch, wanted), rows[i].patch);
  }
  CLEANUP(json_object_putp) struct json_object *first = parse("{\"a\":1}");
  CLEANUP(json_object_putp) struct json_object *all = json_patch_between(NULL, first);
  CU_ASSERT_TRUE(json_object_equal(all, first));
}

UNIT_MAIN("lib/kube/json", UNIT_TEST(test_a_value_and_nothing_behind_it),
          UNIT_TEST(test_ways_lead_to_values_of_their_type_or_to_nothing),
          UNIT_TEST(test_values_are_put_where_nothing_was),
          UNIT_TEST(test_a_patch_that_would_change_nothing_is_told),
          UNIT_TEST(test_what_is_wanted_no_more_is_taken_away))
