/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/registry/document.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static int
parse(const char *text, struct json_object **ret_document, struct error **err)
{
  return document_parse(text, strlen(text), ret_document, err);
}

static void
test_one_object_and_blanks_around_it(void)
{
  static const char *const rows[] = {"{}", " {} ", "{}\n", "\t{\"a\":1}\r\n"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(document_freep) struct json_object *document = NULL;
    CHECK_ROW(parse(rows[i], &document, NULL) == 0, rows[i]);
  }
}

static void
test_anything_else_is_refused(void)
{
  static const char *const rows[] = {
      "",
      " ",
      "null",
      "1",
      "\"a\"",
      "[]",
      "{",
      "}",
      "{}}",
      "{} {}",
      "{}x",
      "{\"a\":}",
      "{\"a\":1,}",
      "{\"a\" 1}",
      "{a:1}",
      "{\"a\":01}",
      "{\"a\":\"\xff\"}",
      "{\"a\":nan}",
      "// {}",
      "{}\x01",
      "{\"digest\":\"a\",\"digest\":\"b\"}",
      "{\"a\":[{\"b\":1,\"\\u0062\":1}]}",
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct json_object *document = NULL;
    CHECK_ROW(parse(rows[i], &document, &err) == -1, rows[i]);
    CHECK_ROW(err && err->code == ERROR_INVALID_ARGUMENT, rows[i]);
    document_free(document);
  }
}

static void
test_depth_is_bounded(void)
{
  char text[100] = "{\"a\":";
  struct json_object *document = NULL;
  size_t len = strlen(text);
  memset(text + len, '[', 40);
  memset(text + len + 40, ']', 40);
  text[len + 80] = '}';
  CU_ASSERT_EQUAL(parse(text, &document, NULL), -1);
}

static void
test_arrays_at_the_top(void)
{
  CLEANUP(document_freep) struct json_object *document = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  struct json_object *other = NULL;
  CU_ASSERT_EQUAL(document_parse_array("[{}]", 4, &document, NULL), 0);
  CHECK_NUMBER(document_count(document), 1);
  CU_ASSERT_EQUAL(document_parse_array("{}", 2, &other, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "not an array");
}

static void
test_members_have_their_type_or_are_left_out(void)
{
  CLEANUP(document_freep) struct json_object *document = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  REQUIRE(parse("{\"s\":\"text\",\"o\":{},\"a\":[\"x\",{}],\"n\":null,\"i\":7}", &document, NULL) ==
          0);
  const char *text = NULL;
  struct json_object *object = NULL, *array = NULL;
  CU_ASSERT_EQUAL(document_string(document, "s", &text, NULL), 0);
  CHECK_STRING(text, "text");
  CU_ASSERT_EQUAL(document_object(document, "o", &object, NULL), 0);
  CU_ASSERT_PTR_NOT_NULL(object);
  CU_ASSERT_EQUAL(document_array(document, "a", &array, NULL), 0);
  CHECK_NUMBER(document_count(array), 2);
  CU_ASSERT_EQUAL(document_string_at(array, 0, &text, NULL), 0);
  CHECK_STRING(text, "x");
  CU_ASSERT_EQUAL(document_object_at(array, 1, &object, NULL), 0);
  CU_ASSERT_EQUAL(document_string_at(array, 1, &text, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "not a string");
  CU_ASSERT_EQUAL(document_object_at(array, 0, &object, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "not an object");
  CU_ASSERT_EQUAL(document_string(document, "n", &text, NULL), 0);
  CU_ASSERT_PTR_NULL(text);
  CU_ASSERT_EQUAL(document_array(document, "missing", &array, NULL), 0);
  CU_ASSERT_PTR_NULL(array);
  CHECK_NUMBER(document_count(NULL), 0);
  CU_ASSERT_EQUAL(document_string(document, "i", &text, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "'i' is not a string");
  CU_ASSERT_EQUAL(document_object(document, "a", &object, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "'a' is not an object");
}

static void
test_strings_hold_no_nul(void)
{
  CLEANUP(document_freep) struct json_object *document = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  const char *text;
  REQUIRE(parse("{\"s\":\"a\\u0000b\"}", &document, NULL) == 0);
  CU_ASSERT_EQUAL(document_string(document, "s", &text, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "holds a NUL");
}

static void
test_sizes(void)
{
  static const struct {
    const char *text;
    int64_t size; /* -1: refused */
  } rows[] = {
      {"{\"size\":0}", 0},
      {"{\"size\":9223372036854775806}", INT64_MAX - 1},
      {"{\"size\":9223372036854775807}", -1},
      {"{\"size\":9223372036854775808}", -1},
      {"{\"size\":99999999999999999999999}", -1},
      {"{\"size\":-1}", -1},
      {"{\"size\":1.5}", -1},
      {"{\"size\":1e3}", -1},
      {"{\"size\":\"1\"}", -1},
      {"{\"size\":null}", -1},
      {"{\"size\":true}", -1},
      {"{}", -1},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(document_freep) struct json_object *document = NULL;
    uint64_t size = 42;
    REQUIRE(parse(rows[i].text, &document, NULL) == 0);
    CHECK_ROW(document_size(document, "size", &size, NULL) == (rows[i].size < 0 ? -1 : 0),
              rows[i].text);
    CHECK_ROW(size == (rows[i].size < 0 ? 42 : (uint64_t)rows[i].size), rows[i].text);
  }
}

UNIT_MAIN("populator/registry/document", UNIT_TEST(test_one_object_and_blanks_around_it),
          UNIT_TEST(test_anything_else_is_refused), UNIT_TEST(test_depth_is_bounded),
          UNIT_TEST(test_arrays_at_the_top),
          UNIT_TEST(test_members_have_their_type_or_are_left_out),
          UNIT_TEST(test_strings_hold_no_nul), UNIT_TEST(test_sizes))
