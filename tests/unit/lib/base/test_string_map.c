/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/string_map.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
test_an_empty_map_has_nothing(void)
{
  struct string_map map = {0};
  CU_ASSERT_PTR_NULL(string_map_get(&map, "a"));
  CU_ASSERT_PTR_NULL(string_map_get(&map, ""));
  string_map_remove(&map, "a");
  string_map_clear(&map);
  CHECK_NUMBER(map.count, 0);
}

static void
test_keys_are_kept_sorted(void)
{
  static const char *const keys[] = {"m", "a", "z", "", "b", "mm", "M", "n", "\xc3\xa9"};
  struct string_map map = {0};
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
    string_map_set(&map, keys[i], keys[i]);
  CHECK_NUMBER(map.count, sizeof(keys) / sizeof(keys[0]));
  for (size_t i = 1; i < map.count; i++)
    CHECK_ROW(strcmp(map.entries[i - 1].key, map.entries[i].key) < 0, map.entries[i].key);
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
    CHECK_STRING(string_map_get(&map, keys[i]), keys[i]);
  string_map_clear(&map);
}

static void
test_set_replaces_the_value_of_a_key_that_is_there(void)
{
  struct string_map map = {0};
  string_map_set(&map, "key", "old");
  string_map_set(&map, "key", "new");
  CHECK_NUMBER(map.count, 1);
  CHECK_STRING(string_map_get(&map, "key"), "new");
  string_map_clear(&map);
}

static void
test_set_takes_copies(void)
{
  struct string_map map = {0};
  char key[] = "key", value[] = "value";
  string_map_set(&map, key, value);
  key[0] = value[0] = '!';
  CHECK_STRING(string_map_get(&map, "key"), "value");
  string_map_clear(&map);
}

static void
test_set_may_take_the_value_it_replaces(void)
{
  struct string_map map = {0};
  string_map_set(&map, "key", "some value");
  string_map_set(&map, "key", string_map_get(&map, "key") + 5);
  CHECK_STRING(string_map_get(&map, "key"), "value");
  string_map_clear(&map);
}

static void
test_empty_values_are_there(void)
{
  struct string_map map = {0};
  string_map_set(&map, "key", "");
  CHECK_STRING(string_map_get(&map, "key"), "");
  string_map_clear(&map);
}

static void
test_remove_takes_one_key_and_leaves_the_rest(void)
{
  struct string_map map = {0};
  string_map_set(&map, "a", "1");
  string_map_set(&map, "b", "2");
  string_map_set(&map, "c", "3");
  string_map_remove(&map, "b");
  string_map_remove(&map, "not there");
  CHECK_NUMBER(map.count, 2);
  CU_ASSERT_PTR_NULL(string_map_get(&map, "b"));
  CHECK_STRING(string_map_get(&map, "a"), "1");
  CHECK_STRING(string_map_get(&map, "c"), "3");
  string_map_remove(&map, "c");
  string_map_remove(&map, "a");
  CHECK_NUMBER(map.count, 0);
  string_map_clear(&map);
}

static void
test_a_cleared_map_may_be_used_again(void)
{
  struct string_map map = {0};
  string_map_set(&map, "a", "1");
  string_map_clear(&map);
  CU_ASSERT_PTR_NULL(string_map_get(&map, "a"));
  string_map_set(&map, "b", "2");
  CHECK_STRING(string_map_get(&map, "b"), "2");
  string_map_clear(&map);
}

static void
test_a_thousand_keys_are_all_found(void)
{
  struct string_map map = {0};
  char key[16];
  for (unsigned i = 0; i < 1000; i++) {
    (void)snprintf(key, sizeof(key), "%u", i * 7919 % 1000);
    string_map_set(&map, key, key);
  }
  CHECK_NUMBER(map.count, 1000);
  unsigned missing = 0;
  for (unsigned i = 0; i < 1000; i++) {
    (void)snprintf(key, sizeof(key), "%u", i);
    const char *value = string_map_get(&map, key);
    missing += !value || strcmp(value, key) != 0;
  }
  CHECK_NUMBER(missing, 0);
  string_map_clear(&map);
}

UNIT_MAIN("lib/base/string_map", UNIT_TEST(test_an_empty_map_has_nothing),
          UNIT_TEST(test_keys_are_kept_sorted),
          UNIT_TEST(test_set_replaces_the_value_of_a_key_that_is_there),
          UNIT_TEST(test_set_takes_copies), UNIT_TEST(test_set_may_take_the_value_it_replaces),
          UNIT_TEST(test_empty_values_are_there),
          UNIT_TEST(test_remove_takes_one_key_and_leaves_the_rest),
          UNIT_TEST(test_a_cleared_map_may_be_used_again),
          UNIT_TEST(test_a_thousand_keys_are_all_found))
