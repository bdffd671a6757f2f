/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/option.h"

#include "tests/unit/unit.h"

static void
test_numbers_have_a_range(void)
{
  static const char *const bad[] = {"",   "0",  "257", "x",   "1x",
                                    "-1", "+1", " 1",  "1.5", "99999999999999999999"};
  uint64_t number = 7;
  CU_ASSERT_EQUAL(option_number("workers", "256", 1, 256, &number, NULL), 0);
  CU_ASSERT_EQUAL(number, 256);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    struct error *err = NULL;
    CHECK_ROW(option_number("workers", bad[i], 1, 256, &number, &err) < 0, bad[i]);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "--workers: a number from 1 to 256");
  }
  CU_ASSERT_EQUAL(number, 256);
}

static void
test_seconds_become_milliseconds(void)
{
  int64_t ms = 7;
  CU_ASSERT_EQUAL(option_seconds("grace-seconds", "25", &ms, NULL), 0);
  CU_ASSERT_EQUAL(ms, 25000);
  CU_ASSERT_EQUAL(option_seconds("grace-seconds", "0", &ms, NULL), -1);
  CU_ASSERT_EQUAL(option_seconds("grace-seconds", "86401", &ms, NULL), -1);
  CU_ASSERT_EQUAL(ms, 25000);
}

static void
test_levels_are_named(void)
{
  enum log_level level = LOG_LEVEL_INFO;
  CU_ASSERT_EQUAL(option_log_level("debug", &level, NULL), 0);
  CU_ASSERT_EQUAL(level, LOG_LEVEL_DEBUG);
  CU_ASSERT_EQUAL(option_log_level("loud", &level, NULL), -1);
}

static void
test_paths_are_absolute(void)
{
  const char *path = NULL;
  CU_ASSERT_EQUAL(option_path("worker", "imprint", &path, NULL), -1);
  CU_ASSERT_PTR_NULL(path);
  CU_ASSERT_EQUAL(option_path("worker", "/usr/bin/imprint", &path, NULL), 0);
  CHECK_STRING(path, "/usr/bin/imprint");
}

UNIT_MAIN("lib/base/option", UNIT_TEST(test_numbers_have_a_range),
          UNIT_TEST(test_seconds_become_milliseconds), UNIT_TEST(test_levels_are_named),
          UNIT_TEST(test_paths_are_absolute))
