/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a server. */
#include "csi/rpc/server.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/base/clock.h"
#include "tests/unit/csi/rpc/echo_service.h"
#include "tests/unit/unit.h"

static void *
open_gate_later(void *echo)
{
  struct timespec pause = {.tv_nsec = 200000000};
  (void)nanosleep(&pause, NULL);
  gate_open(&((struct echo_service *)echo)->gate);
  return NULL;
}

static void
test_stopping_lets_calls_under_way_finish(void)
{
  struct echo_waiter waiter;
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  echo_waiter_start(&waiter, &echo, 30000);
  gate_wait_arrived(&echo.gate, 1);
  pthread_t opener;
  REQUIRE(pthread_create(&opener, NULL, open_gate_later, &echo) == 0);
  CU_ASSERT(rpc_server_stop(TAKE(echo.server), 20000));
  (void)pthread_join(opener, NULL);
  echo_waiter_join(&waiter);
  CHECK_NUMBER(waiter.result, 0);
  echo_service_stop(&echo);
}

static void
test_stopping_answers_for_a_handler_that_does_not_return(void)
{
  struct echo_waiter stuck, waiting;
  struct echo_service echo;
  echo_service_start(&echo, 1, 10);
  echo_waiter_start(&stuck, &echo, 30000);
  gate_wait_arrived(&echo.gate, 1);
  echo_waiter_start(&waiting, &echo, 30000);
  echo_wait_busy(&echo, 2);
  int64_t before_ms = clock_now_ms();
  CU_ASSERT_FALSE(rpc_server_stop(echo.server, 200));
  int64_t took_ms = clock_now_ms() - before_ms;
  CU_ASSERT(took_ms >= 199 && took_ms < 10000);
  struct echo_waiter *const all[] = {&stuck, &waiting};
  for (int i = 0; i < 2; i++) {
    echo_waiter_join(all[i]);
    CHECK_NUMBER(all[i]->result, -1);
    CHECK_ERROR(&all[i]->err, ERROR_UNAVAILABLE, "the driver is stopping: call again");
  }
  echo_service_stop(&echo); /* the handler comes loose, and stopping works */
  CHECK_NUMBER(echo.begun, 1);
}

static void
test_an_idle_server_stops_at_once(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CU_ASSERT_EQUAL(echo_probe(&echo, 30000, NULL), 0); /* so that there is a connection */
  int64_t before_ms = clock_now_ms();
  CU_ASSERT(rpc_server_stop(TAKE(echo.server), 20000));
  CU_ASSERT(clock_now_ms() - before_ms < 10000);
  echo_service_stop(&echo);
}

static int
connect_to(const struct echo_service *echo)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
                 echo->endpoint + strlen("unix://"));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
  return fd;
}

/* Callers that have said hello, or nothing, and do not listen any more: they answer no ping, which
 * gRPC waits for before it closes a connection. */
static void
test_silent_connections_do_not_hold_up_stopping(void)
{
  static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(closep) int greeted = connect_to(&echo);
  CLEANUP(closep) int mute = connect_to(&echo);
  REQUIRE(write(greeted, hello, sizeof(hello) - 1) == (ssize_t)sizeof(hello) - 1);
  CU_ASSERT_EQUAL(echo_probe(&echo, 30000, NULL), 0); /* there is an idle worker, too */
  int64_t before_ms = clock_now_ms();
  CU_ASSERT(rpc_server_stop(TAKE(echo.server), 20000));
  CU_ASSERT(clock_now_ms() - before_ms < 10000);
  echo_service_stop(&echo);
  CU_ASSERT(mute >= 0);
}

/* Not even when the grace is over before it has begun. */
static void
test_an_idle_server_stops_without_grace(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(closep) int mute = connect_to(&echo);
  CU_ASSERT_EQUAL(echo_probe(&echo, 30000, NULL), 0);
  CU_ASSERT(rpc_server_stop(TAKE(echo.server), 0));
  echo_service_stop(&echo);
  CU_ASSERT(mute >= 0);
}

UNIT_MAIN("csi/rpc/server_stop", UNIT_TEST(test_stopping_lets_calls_under_way_finish),
          UNIT_TEST(test_stopping_answers_for_a_handler_that_does_not_return),
          UNIT_TEST(test_an_idle_server_stops_at_once),
          UNIT_TEST(test_silent_connections_do_not_hold_up_stopping),
          UNIT_TEST(test_an_idle_server_stops_without_grace))
