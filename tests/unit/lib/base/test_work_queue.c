/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/work_queue.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "tests/unit/unit.h"

struct record {
  struct work_queue *queue;
  atomic_uint runs;
  atomic_uint at_once;
  atomic_uint most_at_once;
  atomic_llong answer;
  atomic_bool adds_itself;
  unsigned nap_ms;
};

static void
nap(unsigned ms)
{
  struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
  (void)nanosleep(&span, NULL);
}

static int64_t
work(void *context, const char *key)
{
  struct record *record = context;
  unsigned now = atomic_fetch_add(&record->at_once, 1) + 1;
  if (now > atomic_load(&record->most_at_once))
    atomic_store(&record->most_at_once, now);
  nap(record->nap_ms);
  if (atomic_exchange(&record->adds_itself, false))
    work_queue_add(record->queue, key);
  atomic_fetch_sub(&record->at_once, 1);
  atomic_fetch_add(&record->runs, 1);
  return atomic_load(&record->answer);
}

static void
start(struct record *record, size_t threads)
{
  const struct work_queue_options options = {.name = "work",
                                             .threads = threads,
                                             .retry_first_ms = 10,
                                             .retry_max_ms = 40,
                                             .work = work,
                                             .context = record};
  record->queue = work_queue_new(&options);
}

static void
stop(struct record *record)
{
  work_queue_stop(record->queue);
  work_queue_free(record->queue);
}

static bool
reaches(atomic_uint *counter, unsigned wanted)
{
  int64_t deadline_ms = clock_now_ms() + 10000;
  while (atomic_load(counter) < wanted && clock_now_ms() < deadline_ms)
    nap(2);
  return atomic_load(counter) >= wanted;
}

static void
test_a_key_that_waits_is_worked_on_once(void)
{
  struct record record = {.answer = WORK_DONE};
  start(&record, 4);
  for (int i = 0; i < 100; i++)
    work_queue_add(record.queue, "a");
  work_queue_add(record.queue, "b");
  CHECK_NUMBER(work_queue_waiting(record.queue), 2);
  work_queue_start(record.queue);
  CU_ASSERT_TRUE(reaches(&record.runs, 2));
  nap(30);
  CHECK_NUMBER(atomic_load(&record.runs), 2);
  stop(&record);
}

static void
test_a_key_is_never_worked_on_twice_at_a_time(void)
{
  struct record record = {.answer = WORK_DONE, .nap_ms = 5, .adds_itself = true};
  start(&record, 4);
  work_queue_start(record.queue);
  for (int i = 0; i < 20; i++) {
    work_queue_add(record.queue, "a");
    nap(2);
  }
  CU_ASSERT_TRUE(reaches(&record.runs, 3));
  CHECK_NUMBER(atomic_load(&record.most_at_once), 1);
  stop(&record);
}

static void
test_what_is_added_meanwhile_comes_again(void)
{
  struct record record = {.answer = WORK_DONE, .adds_itself = true};
  start(&record, 1);
  work_queue_start(record.queue);
  work_queue_add(record.queue, "a");
  CU_ASSERT_TRUE(reaches(&record.runs, 2));
  stop(&record);
}

static void
test_failures_come_again_and_are_forgotten_with_success(void)
{
  struct record record = {.answer = WORK_FAILED};
  start(&record, 2);
  work_queue_start(record.queue);
  work_queue_add(record.queue, "a");
  CU_ASSERT_TRUE(reaches(&record.runs, 4));
  CU_ASSERT_TRUE(work_queue_failures(record.queue, "a") >= 3);
  atomic_store(&record.answer, WORK_DONE);
  int64_t deadline_ms = clock_now_ms() + 10000;
  while (work_queue_failures(record.queue, "a") > 0 && clock_now_ms() < deadline_ms)
    nap(2);
  CHECK_NUMBER(work_queue_failures(record.queue, "a"), 0);
  stop(&record);
}

static void
test_a_later_time_gives_way_to_an_earlier_one(void)
{
  struct record record = {.answer = WORK_DONE};
  start(&record, 1);
  work_queue_start(record.queue);
  work_queue_add_after(record.queue, "a", 3600000);
  work_queue_add_after(record.queue, "b", 3600000);
  CHECK_NUMBER(work_queue_waiting(record.queue), 0);
  work_queue_add(record.queue, "a");
  CU_ASSERT_TRUE(reaches(&record.runs, 1));
  nap(20);
  CHECK_NUMBER(atomic_load(&record.runs), 1);
  stop(&record);
}

static void
test_it_can_be_asked_to_be_called_again(void)
{
  struct record record = {.answer = 5};
  start(&record, 1);
  work_queue_start(record.queue);
  work_queue_add(record.queue, "a");
  CU_ASSERT_TRUE(reaches(&record.runs, 5));
  stop(&record);
}

UNIT_MAIN("lib/base/work_queue", UNIT_TEST(test_a_key_that_waits_is_worked_on_once),
          UNIT_TEST(test_a_key_is_never_worked_on_twice_at_a_time),
          UNIT_TEST(test_what_is_added_meanwhile_comes_again),
          UNIT_TEST(test_failures_come_again_and_are_forgotten_with_success),
          UNIT_TEST(test_a_later_time_gives_way_to_an_earlier_one),
          UNIT_TEST(test_it_can_be_asked_to_be_called_again))
