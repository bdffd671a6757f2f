/* SPDX-License-Identifier: Apache-2.0 */
/* The server when there is more to do than it has workers, or than a caller waits for. */
#include "csi/rpc/server.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "tests/unit/csi/rpc/echo_service.h"
#include "tests/unit/unit.h"

/* The server has a twentieth of the time to get its answer across. On a machine that is too busy
 * for the first, the next one is tried. */
static const int64_t timeouts_ms[] = {1000, 4000, 16000};
#define TIMEOUTS (sizeof(timeouts_ms) / sizeof(timeouts_ms[0]))

static bool
says(const struct error *err, const char *words)
{
  return err && err->code == ERROR_DEADLINE_EXCEEDED && strstr(err->message, words);
}

static void
test_a_blocking_handler_is_answered_for_before_the_deadline(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 4, 10);
  bool is_answered = false;
  size_t tries = 0;
  for (; !is_answered && tries < TIMEOUTS; tries++) {
    CLEANUP(error_freep) struct error *err = NULL;
    int64_t before_ms = clock_now_ms();
    CU_ASSERT_EQUAL(echo_wait_at_gate(&echo, timeouts_ms[tries], &err), -1);
    /* In the server's words, so it was there before the caller's own clock ran out. */
    is_answered = says(err, "ControllerGetVolume: the storage cluster has not finished within ");
    CU_ASSERT(clock_now_ms() - before_ms >= timeouts_ms[tries] * 9 / 10);
  }
  CU_ASSERT(is_answered);
  CHECK_NUMBER(rpc_server_busy(echo.server), tries); /* the work goes on */
  CU_ASSERT_EQUAL(echo_probe(&echo, 30000, NULL), 0);
  gate_open(&echo.gate);
  echo_wait_busy(&echo, 0); /* its result is dropped */
  CU_ASSERT_EQUAL(echo_probe(&echo, 30000, NULL), 0);
  echo_service_stop(&echo);
}

static void
test_a_call_that_only_waited_is_not_begun_later(void)
{
  struct echo_service echo;
  struct echo_waiter first;
  echo_service_start(&echo, 1, 10);
  echo_waiter_start(&first, &echo, 30000);
  gate_wait_arrived(&echo.gate, 1);
  bool is_answered = false;
  for (size_t i = 0; !is_answered && i < TIMEOUTS; i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CU_ASSERT_EQUAL(echo_probe(&echo, timeouts_ms[i], &err), -1);
    is_answered = says(err, "was not begun: try again later");
  }
  CU_ASSERT(is_answered);
  gate_open(&echo.gate);
  echo_waiter_join(&first);
  CHECK_NUMBER(first.result, 0);
  error_free(first.err);
  echo_wait_busy(&echo, 0);
  CHECK_NUMBER(echo.begun, 1);
  echo_service_stop(&echo);
}

/* So far ahead that it counts as none. */
static void
test_a_caller_without_a_deadline_gets_the_default(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  REQUIRE(rpc_server_stop(echo.server, 1000));
  echo_service_listen(&echo, 2, 10, 300);
  CLEANUP(error_freep) struct error *err = NULL;
  int64_t before_ms = clock_now_ms();
  CU_ASSERT_EQUAL(echo_wait_at_gate(&echo, 40LL * 24 * 3600 * 1000, &err), -1);
  int64_t took_ms = clock_now_ms() - before_ms;
  CHECK_ERROR(&err, ERROR_DEADLINE_EXCEEDED, "has not finished within 3");
  CU_ASSERT(took_ms >= 299 && took_ms < 10000);
  echo_service_stop(&echo);
}

/* How many of a hundred calls, more than are answered in one go, were answered in time. */
static unsigned
count_in_time(struct echo_service *echo, int64_t timeout_ms)
{
  enum { CALLS = 100 };
  static struct echo_waiter waiters[CALLS];
  for (int i = 0; i < CALLS; i++)
    echo_waiter_start(&waiters[i], echo, timeout_ms);
  unsigned in_time = 0;
  for (int i = 0; i < CALLS; i++) {
    echo_waiter_join(&waiters[i]);
    in_time += says(waiters[i].err, "the storage cluster");
    error_free(waiters[i].err);
  }
  return in_time;
}

static void
test_many_late_calls_are_all_answered_in_time(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 8, 1000);
  unsigned in_time = 0;
  for (size_t i = 0; in_time < 100 && i < TIMEOUTS; i++)
    in_time = count_in_time(&echo, 2 * timeouts_ms[i]);
  CHECK_NUMBER(in_time, 100);
  gate_open(&echo.gate);
  echo_wait_busy(&echo, 0);
  CHECK_NUMBER(echo.begun, 8);
  echo_service_stop(&echo);
}

struct caller {
  struct echo_service *echo;
  unsigned number;
  bool is_right;
  pthread_t thread;
};

static void *
create_and_compare(void *arg)
{
  struct caller *caller = arg;
  char name[32];
  (void)snprintf(name, sizeof(name), "volume-%u", caller->number);
  CLEANUP(freep) char *id = NULL;
  caller->is_right = echo_create(caller->echo, name, &id, NULL) == 0 && id && strcmp(id, name) == 0;
  return NULL;
}

static void
test_two_hundred_calls_at_once_each_get_their_own_answer(void)
{
  enum { CALLS = 200 };
  static struct caller callers[CALLS];
  struct echo_service echo;
  echo_service_start(&echo, 8, 1000);
  for (unsigned i = 0; i < CALLS; i++) {
    callers[i] = (struct caller){.echo = &echo, .number = i};
    REQUIRE(pthread_create(&callers[i].thread, NULL, create_and_compare, &callers[i]) == 0);
  }
  unsigned right = 0;
  for (int i = 0; i < CALLS; i++) {
    (void)pthread_join(callers[i].thread, NULL);
    right += callers[i].is_right;
  }
  CHECK_NUMBER(right, CALLS);
  CHECK_NUMBER(echo.begun, CALLS);
  echo_wait_busy(&echo, 0);
  echo_service_stop(&echo);
}

static void
test_no_more_handlers_run_at_once_than_there_are_workers(void)
{
  struct echo_waiter waiters[6];
  struct echo_service echo;
  echo_service_start(&echo, 3, 10);
  for (int i = 0; i < 6; i++)
    echo_waiter_start(&waiters[i], &echo, 30000);
  gate_wait_arrived(&echo.gate, 3);
  echo_wait_served(&echo, 6);
  CHECK_NUMBER(gate_arrived(&echo.gate), 3);
  CHECK_NUMBER(rpc_server_busy(echo.server), 6);
  gate_open(&echo.gate);
  for (int i = 0; i < 6; i++) {
    echo_waiter_join(&waiters[i]);
    CHECK_NUMBER(waiters[i].result, 0);
  }
  echo_service_stop(&echo);
}

/* One runs, one waits; whichever of the two comes last is turned away. */
static void
test_a_full_server_says_so_at_once(void)
{
  struct echo_waiter running, second, third;
  struct echo_service echo;
  echo_service_start(&echo, 1, 1);
  echo_waiter_start(&running, &echo, 30000);
  gate_wait_arrived(&echo.gate, 1);
  echo_waiter_start(&second, &echo, 30000);
  echo_waiter_start(&third, &echo, 30000);
  echo_wait_served(&echo, 3);
  echo_wait_busy(&echo, 2); /* the third has been answered */
  gate_open(&echo.gate);
  struct echo_waiter *const all[] = {&running, &second, &third};
  unsigned succeeded = 0;
  for (int i = 0; i < 3; i++) {
    echo_waiter_join(all[i]);
    succeeded += all[i]->result == 0;
    if (all[i]->result < 0)
      CHECK_ERROR(&all[i]->err, ERROR_UNAVAILABLE, "too many calls are waiting");
  }
  CHECK_NUMBER(running.result, 0);
  CHECK_NUMBER(succeeded, 2);
  CU_ASSERT_EQUAL(echo_probe(&echo, 30000, NULL), 0);
  echo_service_stop(&echo);
}

UNIT_MAIN("csi/rpc/server_load",
          UNIT_TEST(test_a_blocking_handler_is_answered_for_before_the_deadline),
          UNIT_TEST(test_a_call_that_only_waited_is_not_begun_later),
          UNIT_TEST(test_a_caller_without_a_deadline_gets_the_default),
          UNIT_TEST(test_many_late_calls_are_all_answered_in_time),
          UNIT_TEST(test_two_hundred_calls_at_once_each_get_their_own_answer),
          UNIT_TEST(test_no_more_handlers_run_at_once_than_there_are_workers),
          UNIT_TEST(test_a_full_server_says_so_at_once))
