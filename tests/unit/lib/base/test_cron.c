/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/cron.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

static const struct answer {
  const char *schedule;
  int64_t after_s;
  int64_t next_s;
} answers[] = {
#include "tests/unit/lib/base/cron_answers.inc"
};

/* 0 where there is none. */
static int64_t
next_of(const char *schedule, int64_t after_s)
{
  CLEANUP(cron_clear) struct cron cron = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  int64_t at_s = 0;
  if (cron_parse(schedule, &cron, &err) == 0)
    (void)cron_next(&cron, after_s, &at_s, &err);
  if (err)
    (void)printf("%s: %s\n", schedule, err->message);
  return at_s;
}

static void
test_answers_agree_with_those_of_kubernetes(void)
{
  for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
    const struct answer *answer = &answers[i];
    int64_t got_s = next_of(answer->schedule, answer->after_s);
    if (got_s != answer->next_s)
      (void)printf("%s behind %lld: %lld, not %lld\n", answer->schedule, (long long)answer->after_s,
                   (long long)got_s, (long long)answer->next_s);
    CU_ASSERT_EQUAL(got_s, answer->next_s);
  }
}

/* Next times in a row, until and with one at that moment. */
static int
count_until(const char *schedule, int64_t from_s, int64_t until_s)
{
  int count = 0;
  for (int64_t at_s = from_s; (at_s = next_of(schedule, at_s)) <= until_s;)
    count++;
  return count;
}

static void
test_a_day_of_25_hours_has_25_of_them(void)
{
  const int64_t october_27_s = 1729980000; /* 2024-10-27 00:00 in Berlin */
  CU_ASSERT_EQUAL(count_until("CRON_TZ=Europe/Berlin 0 * * * *", october_27_s - 1,
                              october_27_s + 25LL * 3600 - 1),
                  25);
  CU_ASSERT_EQUAL(count_until("CRON_TZ=Europe/Berlin 30 2 * * *", october_27_s - 1,
                              october_27_s + 25LL * 3600 - 1),
                  2);
  CU_ASSERT_EQUAL(count_until("30 2 * * *", october_27_s - 1, october_27_s + 24LL * 3600 - 1), 1);
}

static void
test_an_hour_that_is_skipped_is_skipped(void)
{
  const int64_t march_31_s = 1711839600; /* 2024-03-31 00:00 in Berlin */
  CU_ASSERT_EQUAL(
      count_until("CRON_TZ=Europe/Berlin 30 2 * * *", march_31_s - 1, march_31_s + 23LL * 3600 - 1),
      0);
  CU_ASSERT_EQUAL(
      count_until("CRON_TZ=Europe/Berlin 0 * * * *", march_31_s - 1, march_31_s + 23LL * 3600 - 1),
      23);
}

/* Lord Howe's clocks go back by half an hour, from 02:00 to 01:30, at 15:00 UTC. (The library
 * behind the answers above steps by whole hours and misses the day.) */
static void
test_half_an_hour_is_a_change_too(void)
{
  const int64_t april_4_s = 1775314800; /* 2026-04-04 15:00 UTC */
  CU_ASSERT_EQUAL(next_of("CRON_TZ=Australia/Lord_Howe 0 2 * * *", april_4_s - 1),
                  april_4_s + 1800);
  CU_ASSERT_EQUAL(next_of("CRON_TZ=Australia/Lord_Howe 45 1 * * *", april_4_s - 1),
                  april_4_s + 900);
}

static void
test_seven_is_sunday(void)
{
  for (int64_t at_s = 1700000000; at_s < 1702000000; at_s += 100000) {
    CU_ASSERT_EQUAL(next_of("0 0 * * 7", at_s), next_of("0 0 * * 0", at_s));
    CU_ASSERT_EQUAL(next_of("0 0 * * 5-7", at_s), next_of("0 0 * * fri,sat,sun", at_s));
  }
}

static void
test_what_never_comes_is_told(void)
{
  CLEANUP(cron_clear) struct cron cron = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  int64_t at_s = 7;
  CU_ASSERT_EQUAL_FATAL(cron_parse("0 0 30 2 *", &cron, &err), 0);
  CU_ASSERT_EQUAL(cron_next(&cron, 1700000000, &at_s, &err), -1);
  CU_ASSERT_EQUAL(err->code, ERROR_NOT_FOUND);
  CU_ASSERT_EQUAL(at_s, 7);
}

static void
test_errors_name_the_field(void)
{
  static const struct {
    const char *schedule;
    const char *names;
  } rows[] = {
      {"60 * * * *", "minute: 60"},
      {"-1 * * * *", "minute"},
      {"* 24 * * *", "hour: 24"},
      {"* * 0 * *", "day of the month: 0"},
      {"* * 32 * *", "day of the month: 32"},
      {"* * * 13 *", "month: 13"},
      {"* * * january *", "month: 'january'"},
      {"* * * * 8", "day of the week: 8"},
      {"* * * * mon-", "day of the week: ''"},
      {"5-1 * * * *", "minute: the range '5-1' goes backwards"},
      {"*/0 * * * *", "minute: the step '0'"},
      {"*/x * * * *", "minute: the step 'x'"},
      {"1,,2 * * * *", "minute: ''"},
      {"1, * * * *", "minute: ''"},
      {"1+2 * * * *", "minute: '1+2'"},
      {"* * * *", "day of the week is missing"},
      {"", "minute is missing"},
      {"* * * * * *", "five fields"},
      {"@never", "@never"},
      {"@daily 5", "@daily 5"},
      {"@every 1h", "@every 1h"},
      {"CRON_TZ= * * * * *", "no time zone"},
      {"CRON_TZ=../../etc/passwd * * * * *", "no name of a time zone"},
      {"CRON_TZ=Mars/Olympus * * * * *", "Mars/Olympus"},
      {"CRON_TZ=UTC", "minute is missing"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct cron cron = {0};
    CU_ASSERT_EQUAL(cron_parse(rows[i].schedule, &cron, &err), -1);
    REQUIRE(err);
    if (!strstr(err->message, rows[i].names))
      (void)printf("%s: %s\n", rows[i].schedule, err->message);
    CU_ASSERT_PTR_NOT_NULL(strstr(err->message, rows[i].names));
  }
}

static void
test_jitter_is_stable_and_spread(void)
{
  int buckets[10] = {0};
  for (int i = 0; i < 1000; i++) {
    char name[32];
    (void)snprintf(name, sizeof(name), "golden-images/cron-%d", i);
    int64_t jitter_s = cron_jitter_s(name, 600);
    CU_ASSERT_FATAL(jitter_s >= 0 && jitter_s < 600);
    CU_ASSERT_EQUAL(jitter_s, cron_jitter_s(name, 600));
    buckets[jitter_s / 60]++;
  }
  for (int i = 0; i < 10; i++)
    CU_ASSERT(buckets[i] > 60 && buckets[i] < 140);
  CU_ASSERT_EQUAL(cron_jitter_s("x", 0), 0);
  CU_ASSERT_EQUAL(cron_jitter_s("x", 1), 0);
}

UNIT_MAIN("lib/base/cron", UNIT_TEST(test_answers_agree_with_those_of_kubernetes),
          UNIT_TEST(test_a_day_of_25_hours_has_25_of_them),
          UNIT_TEST(test_an_hour_that_is_skipped_is_skipped),
          UNIT_TEST(test_half_an_hour_is_a_change_too), UNIT_TEST(test_seven_is_sunday),
          UNIT_TEST(test_what_never_comes_is_told), UNIT_TEST(test_errors_name_the_field),
          UNIT_TEST(test_jitter_is_stable_and_spread))
