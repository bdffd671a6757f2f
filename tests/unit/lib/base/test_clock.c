/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/clock.h"

#include <errno.h>

#include "lib/base/lock.h"
#include "tests/unit/unit.h"

static void
test_now_never_goes_back(void)
{
  int64_t before_ms = clock_now_ms();
  unsigned steps_back = 0;
  for (int i = 0; i < 10000; i++) {
    int64_t now_ms = clock_now_ms();
    steps_back += now_ms < before_ms;
    before_ms = now_ms;
  }
  CHECK_NUMBER(steps_back, 0);
}

static void
test_now_counts_milliseconds(void)
{
  int64_t before_ms = clock_now_ms();
  struct timespec pause = {.tv_nsec = 30000000};
  (void)nanosleep(&pause, NULL);
  int64_t took_ms = clock_now_ms() - before_ms;
  CU_ASSERT(took_ms >= 29 && took_ms < 10000);
}

static void
test_timespec_splits_at_the_second(void)
{
  static const struct {
    int64_t ms;
    time_t s;
    long ns;
  } rows[] = {
      {0, 0, 0}, {1, 0, 1000000}, {999, 0, 999000000}, {1000, 1, 0}, {86400123, 86400, 123000000}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct timespec at = clock_timespec_of_ms(rows[i].ms);
    CHECK_NUMBER(at.tv_sec, rows[i].s);
    CHECK_NUMBER(at.tv_nsec, rows[i].ns);
  }
}

/* Waiting for ever and waiting until just now both have to work with pthreads. */
static void
test_timespec_suits_a_condition(void)
{
  struct timespec never = clock_timespec_of_ms(CLOCK_NEVER_MS);
  CU_ASSERT(never.tv_sec > 0 && never.tv_nsec >= 0 && never.tv_nsec < 1000000000);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition;
  condition_init(&condition);
  (void)pthread_mutex_lock(&mutex);
  int64_t before_ms = clock_now_ms();
  struct timespec soon = clock_timespec_of_ms(before_ms + 50);
  int r;
  do
    r = pthread_cond_timedwait(&condition, &mutex, &soon);
  while (r == 0);
  (void)pthread_mutex_unlock(&mutex);
  CHECK_NUMBER(r, ETIMEDOUT);
  int64_t took_ms = clock_now_ms() - before_ms;
  CU_ASSERT(took_ms >= 49 && took_ms < 10000);
  (void)pthread_cond_destroy(&condition);
}

UNIT_MAIN("lib/base/clock", UNIT_TEST(test_now_never_goes_back),
          UNIT_TEST(test_now_counts_milliseconds), UNIT_TEST(test_timespec_splits_at_the_second),
          UNIT_TEST(test_timespec_suits_a_condition))
