/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/time_zone.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/zone_rule.h"
#include "tests/unit/unit.h"

/* The C library as the judge, which reads one zone a process at a time. */
static int64_t
offset_by_the_c_library(int64_t at_s)
{
  struct tm tm;
  time_t at = (time_t)at_s;
  (void)localtime_r(&at, &tm);
  return tm.tm_gmtoff;
}

static void
test_offsets_agree_with_the_c_library(void)
{
  static const char *const names[] = {
      "Europe/Berlin",    "America/New_York",    "Asia/Seoul",        "Asia/Kolkata",
      "Australia/Sydney", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia",
      "Africa/Cairo",     "Africa/Casablanca",   "Asia/Gaza",         "Europe/Dublin",
      "America/Nuuk",     "Antarctica/Troll",    "Etc/GMT+5",
  };
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    CLEANUP(time_zone_closep) struct time_zone *zone = NULL;
    CLEANUP(error_freep) struct error *err = NULL;
    CU_ASSERT_EQUAL_FATAL(time_zone_open(names[i], &zone, &err), 0);
    (void)setenv("TZ", names[i], 1);
    tzset();
    /* 1970 to 2070, by steps that meet every hour of the day */
    for (int64_t at_s = 0; at_s < 3155760000; at_s += 7000)
      CU_ASSERT_EQUAL_FATAL(time_zone_offset_s(zone, at_s), offset_by_the_c_library(at_s));
  }
}

static void
test_utc_needs_no_file(void)
{
  struct time_zone *zone = NULL;
  CU_ASSERT_EQUAL(time_zone_open("UTC", &zone, NULL), 0);
  CU_ASSERT_PTR_NULL(zone);
  CU_ASSERT_EQUAL(time_zone_offset_s(zone, 1700000000), 0);
}

static void
test_names_that_lead_elsewhere_are_refused(void)
{
  static const char *const names[] = {"../Europe/Berlin", "/etc/localtime", "Europe/../UTC",
                                      "Europe/",          "Europe//Berlin", ".",
                                      "Europe/Ber lin"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct time_zone *zone = NULL;
    CU_ASSERT_EQUAL(time_zone_open(names[i], &zone, &err), -1);
    CU_ASSERT_EQUAL(err->code, ERROR_INVALID_ARGUMENT);
  }
}

static void
test_rules_of_posix_are_read(void)
{
  struct zone_rule rule;
  CU_ASSERT_TRUE_FATAL(zone_rule_parse("CET-1CEST,M3.5.0,M10.5.0/3", &rule));
  CU_ASSERT_EQUAL(zone_rule_offset_s(&rule, 1711846799), 3600); /* 2024-03-31 00:59:59 UTC */
  CU_ASSERT_EQUAL(zone_rule_offset_s(&rule, 1711846800), 7200);
  CU_ASSERT_EQUAL(zone_rule_offset_s(&rule, 1729990799), 7200); /* 2024-10-27 00:59:59 UTC */
  CU_ASSERT_EQUAL(zone_rule_offset_s(&rule, 1729990800), 3600);
  CU_ASSERT_TRUE_FATAL(zone_rule_parse("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", &rule));
  CU_ASSERT_EQUAL(zone_rule_offset_s(&rule, 1704067200), 39600); /* January is summer there */
  CU_ASSERT_EQUAL(zone_rule_offset_s(&rule, 1719792000), 37800);
  CU_ASSERT_TRUE_FATAL(zone_rule_parse("EST5EDT,J60/2,J300/2", &rule));
  CU_ASSERT_TRUE_FATAL(zone_rule_parse("EST5EDT,0/0,365/25", &rule)); /* summer all the year */
  CU_ASSERT_EQUAL(zone_rule_offset_s(&rule, 1704067200), -14400);
  static const char *const bad[] = {"",
                                    "CET",
                                    "C-1",
                                    "CET-1CEST",
                                    "CET-1CEST,M13.1.0,M1.1.0",
                                    "CET-1CEST,M3.5.0",
                                    "CET-1CEST,M3.6.0,M4.1.0",
                                    "<+03-3",
                                    "CET-1CEST,M3.5.0,M10.5.0x",
                                    "CET-200"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    CU_ASSERT_FALSE(zone_rule_parse(bad[i], &rule));
}

static void
test_damaged_files_are_refused(void)
{
  static const char *const files[] = {"", "TZif",
                                      "not a zone file at all, whatever it says here …"};
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct time_zone *zone = NULL;
    CU_ASSERT_EQUAL(time_zone_parse(files[i], strlen(files[i]), &zone, &err), -1);
    CU_ASSERT_EQUAL(err->code, ERROR_INVALID_ARGUMENT);
  }
}

UNIT_MAIN("lib/base/time_zone", UNIT_TEST(test_offsets_agree_with_the_c_library),
          UNIT_TEST(test_utc_needs_no_file), UNIT_TEST(test_names_that_lead_elsewhere_are_refused),
          UNIT_TEST(test_rules_of_posix_are_read), UNIT_TEST(test_damaged_files_are_refused))
