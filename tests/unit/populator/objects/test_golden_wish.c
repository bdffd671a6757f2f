/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/golden_wish.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/objects/kinds.h"
#include "tests/unit/unit.h"

#define CRON(name, spec)                                                                           \
  "{\"from\":\"templates '" name "'\",\"object\":{\"kind\":\"DataImportCron\",\"metadata\":"       \
  "{\"namespace\":\"golden\",\"name\":\"" name "\"},\"spec\":{" spec "}}}"
#define SOURCE                                                                                     \
  "{\"from\":\"templates 'a'\",\"object\":{\"kind\":\"DataSource\",\"metadata\":"                  \
  "{\"namespace\":\"golden\",\"name\":\"a\"},\"spec\":{\"source\":{}}}}"

/* list and minute may be NULL. */
static struct kube_object *
config_map(const char *list, const char *minute)
{
  struct json_object *json = json_object_new_object();
  json_put_text(json, "golden", "metadata", "name");
  if (list)
    json_put_text(json, list, "data", "objects.json");
  if (minute)
    json_put_text(json, minute, "data", "minute");
  return kube_object_new(json);
}

static int
read_list(const char *list, struct golden_wishes *wishes, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *map = config_map(list, NULL);
  return golden_wishes_read(map, wishes, err);
}

static void
test_what_is_asked_for_is_found_by_kind_and_name(void)
{
  CLEANUP(golden_wishes_clear) struct golden_wishes wishes = {0};
  REQUIRE(read_list("[" SOURCE "," CRON("a", "") "]", &wishes, NULL) == 0);
  CU_ASSERT_TRUE(wishes.is_told);
  CHECK_NUMBER(wishes.count, 2);
  const struct golden_wish *cron = golden_wishes_find(&wishes, &data_import_crons, "golden", "a");
  CU_ASSERT_PTR_EQUAL(cron, &wishes.items[1]);
  CHECK_STRING(wishes.items[1].from, "templates 'a'");
  CU_ASSERT_PTR_EQUAL(golden_wishes_find(&wishes, &data_sources, "golden", "a"), &wishes.items[0]);
  CU_ASSERT_PTR_NULL(golden_wishes_find(&wishes, &data_sources, "other", "a"));
  CU_ASSERT_PTR_NULL(golden_wishes_find(&wishes, &data_sources, "golden", "b"));
}

static void
test_no_list_takes_nothing_back_and_an_empty_one_does(void)
{
  CLEANUP(golden_wishes_clear) struct golden_wishes none = {0};
  CLEANUP(golden_wishes_clear) struct golden_wishes empty = {0};
  CHECK_NUMBER(read_list(NULL, &none, NULL), 0);
  CU_ASSERT_FALSE(none.is_told);
  CHECK_NUMBER(read_list("[]", &empty, NULL), 0);
  CU_ASSERT_TRUE(empty.is_told);
  CHECK_NUMBER(empty.count, 0);
}

static void
test_a_broken_list_says_where(void)
{
  static const struct {
    const char *list;
    const char *message;
  } rows[] = {
      {"[{", "objects.json: not JSON"},
      {"{}", "objects.json: a list is needed"},
      {"[7]", "entry 0 has no from"},
      {"[" SOURCE ",{\"from\":\"x\",\"object\":{\"kind\":\"Pod\"}}]", "entry 1 has no kind"},
      {"[{\"from\":\"x\",\"object\":{\"kind\":\"DataSource\"}}]", "no metadata.namespace"},
      {"[{\"from\":\"x\",\"object\":{\"kind\":\"DataSource\",\"metadata\":{\"namespace\":\"n\"}}}]",
       "no metadata.name"},
      {"[{\"from\":\"x\",\"object\":{\"kind\":\"DataSource\",\"metadata\":{\"namespace\":\"n\","
       "\"name\":\"m\"}}}]",
       "no spec"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct golden_wishes wishes = {0};
    REQUIRE(read_list(rows[i].list, &wishes, &err) < 0);
    CHECK_NUMBER(err->code, ERROR_INVALID_ARGUMENT);
    CHECK_ROW(strstr(err->message, rows[i].message), err->message);
  }
}

static void
test_crons_without_a_schedule_get_the_minute(void)
{
  CLEANUP(golden_wishes_clear) struct golden_wishes wishes = {0};
  CLEANUP(golden_wishes_clear) struct golden_wishes given = {0};
  REQUIRE(read_list("[" SOURCE "," CRON("a", "") "," CRON("b", "\"schedule\":\"@daily\"") "]",
                    &wishes, NULL) == 0);
  CU_ASSERT_TRUE(golden_wishes_need_minute(&wishes));
  golden_wishes_set_minute(&wishes, 7);
  CU_ASSERT_FALSE(golden_wishes_need_minute(&wishes));
  CU_ASSERT_PTR_NULL(json_text(wishes.items[0].object, "spec", "schedule"));
  CHECK_STRING(json_text(wishes.items[1].object, "spec", "schedule"), "7 */12 * * *");
  CHECK_STRING(json_text(wishes.items[2].object, "spec", "schedule"), "@daily");
  REQUIRE(read_list("[" CRON("b", "\"schedule\":\"\"") "]", &given, NULL) == 0);
  CU_ASSERT_FALSE(golden_wishes_need_minute(&given)); /* it looks when it is asked to */
}

static void
test_the_minute_is_told_or_follows_from_a_uid(void)
{
  static const struct {
    const char *text;
    int minute;
  } rows[] = {{"0", 0},
              {"59", 59},
              {"60", GOLDEN_WISH_NO_MINUTE},
              {"", GOLDEN_WISH_NO_MINUTE},
              {"x", GOLDEN_WISH_NO_MINUTE},
              {NULL, GOLDEN_WISH_NO_MINUTE}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(kube_object_releasep) struct kube_object *map = config_map(NULL, rows[i].text);
    CHECK_ROW(golden_wish_minute(map) == rows[i].minute, rows[i].text ? rows[i].text : "none");
  }
  bool is_seen[60] = {false};
  size_t count = 0;
  for (int i = 0; i < 1000; i++) {
    CLEANUP(freep) char *uid = xasprintf("dc4caedd-bd0e-4af0-99ef-%012d", i);
    int minute = golden_wish_minute_of(uid);
    REQUIRE(minute >= 0 && minute < 60);
    CHECK_NUMBER(golden_wish_minute_of(uid), minute);
    count += !is_seen[minute];
    is_seen[minute] = true;
  }
  CHECK_NUMBER(count, 60);
}

UNIT_MAIN("populator/objects/golden_wish",
          UNIT_TEST(test_what_is_asked_for_is_found_by_kind_and_name),
          UNIT_TEST(test_no_list_takes_nothing_back_and_an_empty_one_does),
          UNIT_TEST(test_a_broken_list_says_where),
          UNIT_TEST(test_crons_without_a_schedule_get_the_minute),
          UNIT_TEST(test_the_minute_is_told_or_follows_from_a_uid))
