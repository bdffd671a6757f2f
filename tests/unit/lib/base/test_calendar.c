/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/calendar.h"

#include <time.h>

#include "tests/unit/unit.h"

static void
test_days_agree_with_the_c_library(void)
{
  for (int64_t days = -800000; days < 800000; days += 17) {
    struct tm tm;
    time_t at = (time_t)(days * CALENDAR_DAY_S + 4711);
    CU_ASSERT_PTR_NOT_NULL_FATAL(gmtime_r(&at, &tm));
    struct calendar_date date = calendar_date_of(days);
    CU_ASSERT_EQUAL(date.year, tm.tm_year + 1900);
    CU_ASSERT_EQUAL(date.month, tm.tm_mon + 1);
    CU_ASSERT_EQUAL(date.day, tm.tm_mday);
    CU_ASSERT_EQUAL(calendar_weekday(days), tm.tm_wday);
    CU_ASSERT_EQUAL(calendar_days_of(date.year, date.month, date.day), days);
    CU_ASSERT_EQUAL(calendar_day_of_s(at), days);
    CU_ASSERT_EQUAL(calendar_second_of_day(at), 4711);
  }
}

static void
test_months_have_their_days(void)
{
  CU_ASSERT_EQUAL(calendar_days_in_month(2024, 2), 29);
  CU_ASSERT_EQUAL(calendar_days_in_month(2100, 2), 28);
  CU_ASSERT_EQUAL(calendar_days_in_month(2000, 2), 29);
  CU_ASSERT_EQUAL(calendar_days_in_month(2023, 12), 31);
}

UNIT_MAIN("lib/base/calendar", UNIT_TEST(test_days_agree_with_the_c_library),
          UNIT_TEST(test_months_have_their_days))
