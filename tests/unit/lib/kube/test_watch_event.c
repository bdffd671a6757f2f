/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/watch_event.h"

#include <string.h>

#include "tests/unit/unit.h"

static int
parse(const char *line, struct watch_event *ret_event, struct error **err)
{
  return watch_event_parse(line, strlen(line), ret_event, err);
}

static void
test_objects_come_with_their_metadata(void)
{
  struct watch_event event;
  REQUIRE(parse("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"n\",\"namespace\":\"s\","
                "\"uid\":\"u\",\"resourceVersion\":\"12\",\"generation\":3,\"managedFields\":[1],"
                "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}}",
                &event, NULL) == 0);
  CHECK_NUMBER(event.type, WATCH_PUT);
  CHECK_STRING(event.version, "12");
  CHECK_STRING(event.object->ns, "s");
  CHECK_STRING(event.object->name, "n");
  CHECK_STRING(event.object->uid, "u");
  CHECK_NUMBER(event.object->generation, 3);
  CU_ASSERT_TRUE(event.object->is_deleting);
  CU_ASSERT_PTR_NULL(json_at(event.object->json, "metadata", "managedFields"));
  watch_event_clear(&event);
}

static void
test_a_bookmark_has_a_version_only(void)
{
  struct watch_event event;
  REQUIRE(parse("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"99\"}}}",
                &event, NULL) == 0);
  CHECK_NUMBER(event.type, WATCH_BOOKMARK);
  CU_ASSERT_PTR_NULL(event.object);
  CHECK_STRING(event.version, "99");
  watch_event_clear(&event);
}

static void
test_errors_are_told_by_what_they_mean(void)
{
  struct watch_event event;
  struct error *err = NULL;
  CU_ASSERT_EQUAL(parse("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
                        "\"reason\":\"Expired\",\"message\":\"too old\"}}",
                        &event, &err),
                  -1);
  CHECK_ERROR(&err, ERROR_OUT_OF_RANGE, "too old");
}

static void
test_what_is_no_event_is_refused(void)
{
  static const char *const lines[] = {
      "{}",
      "[]",
      "{\"type\":\"ADDED\"}",
      "{\"type\":\"ADDED\",\"object\":{}}",
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}",
      "{\"type\":\"NEW\",\"object\":{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"1\"}}}",
      "{\"type\":7,\"object\":{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"1\"}}}",
      "not json",
  };
  for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
    struct watch_event event;
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(parse(lines[i], &event, &err) < 0 && err, lines[i]);
  }
}

UNIT_MAIN("lib/kube/watch_event", UNIT_TEST(test_objects_come_with_their_metadata),
          UNIT_TEST(test_a_bookmark_has_a_version_only),
          UNIT_TEST(test_errors_are_told_by_what_they_mean),
          UNIT_TEST(test_what_is_no_event_is_refused))
