/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/rpc/server.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "tests/unit/capture.h"
#include "tests/unit/csi/rpc/echo_service.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

static void
test_a_call_reaches_its_handler_and_the_answer_comes_back(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *id = NULL;
  CU_ASSERT_EQUAL(echo_probe(&echo, 30000, &err), 0);
  CU_ASSERT_EQUAL(echo_create(&echo, "pvc-\xe2\x82\xac", &id, &err), 0);
  CHECK_STRING(id, "pvc-\xe2\x82\xac");
  CHECK_NUMBER(echo.begun, 2);
  CHECK_NUMBER(rpc_server_served(echo.server), 2);
  echo_service_stop(&echo);
}

static void
test_a_bad_string_never_reaches_the_handler(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *id = NULL;
  CU_ASSERT_EQUAL(echo_create(&echo, "bad \xff", &id, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "CreateVolume: field 'name' is not valid UTF-8");
  CHECK_NUMBER(echo.begun, 0);
  echo_service_stop(&echo);
}

/* Field 1 of DeleteVolume is a string; here a number arrives. */
static void
test_a_message_of_another_form_never_reaches_the_handler(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(error_freep) struct error *err = NULL;
  Csi__V1__ListVolumesRequest request = CSI__V1__LIST_VOLUMES_REQUEST__INIT;
  request.max_entries = 1;
  ProtobufCMessage *response = NULL;
  CU_ASSERT_EQUAL(rpc_client_call(echo.client, "/csi.v1.Controller/DeleteVolume", &request.base,
                                  &csi__v1__delete_volume_response__descriptor, 30000, &response,
                                  &err),
                  -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "not a well-formed DeleteVolumeRequest message");
  CHECK_NUMBER(echo.begun, 0);
  echo_service_stop(&echo);
}

static void
test_an_unknown_method_is_unimplemented(void)
{
  static const char *const paths[] = {"/csi.v1.Node/NodeGetInfo", "/csi.v1.Identity/Probed",
                                      "/csi.v1.Identity/Prob",    "/csi.v0.Identity/Probe",
                                      "/csi.v1.Identity/probe",   "/csi.v1.Identity/Probe/"};
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    Csi__V1__ProbeRequest request = CSI__V1__PROBE_REQUEST__INIT;
    ProtobufCMessage *response = NULL;
    CHECK_ROW(rpc_client_call(echo.client, paths[i], &request.base,
                              &csi__v1__probe_response__descriptor, 30000, &response, &err) == -1,
              paths[i]);
    CHECK_ERROR(&err, ERROR_UNIMPLEMENTED, "this driver does not serve that method");
  }
  CHECK_NUMBER(echo.begun, 0);
  echo_service_stop(&echo);
}

static char *
name_of_length(size_t len)
{
  char *name = xcalloc(len + 1, 1);
  memset(name, 'x', len);
  return name;
}

static void
test_a_message_above_1_mib_is_refused(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *id = NULL;
  CLEANUP(freep) char *large = name_of_length((1 << 20) - 16);
  CLEANUP(freep) char *too_large = name_of_length(1 << 20);
  CU_ASSERT_EQUAL(echo_create(&echo, too_large, &id, &err), -1);
  CHECK_ERROR(&err, ERROR_RESOURCE_EXHAUSTED, "larger than max");
  CU_ASSERT_EQUAL(echo_create(&echo, large, &id, &err), 0);
  CHECK_STRING(id, large);
  CHECK_NUMBER(echo.begun, 1);
  echo_service_stop(&echo);
}

/* Clients refuse an answer whose status takes more than 8 KiB, and with it what it says. */
static void
test_a_long_error_arrives_cut_between_characters(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *how = xcalloc(100000, 1);
  size_t len = (size_t)snprintf(how, 100000, "5 no volume ");
  while (len + 4 < 100000)
    len += (size_t)snprintf(how + len, 4, "\xe2\x82\xac");
  CU_ASSERT_EQUAL(echo_delete(&echo, how, &err), -1);
  REQUIRE(err);
  CHECK_NUMBER(err->code, ERROR_NOT_FOUND);
  CU_ASSERT_PTR_NOT_NULL(strstr(err->message, "no volume \xe2\x82\xac"));
  CU_ASSERT(strlen(err->message) > 2000 && strlen(err->message) < 2200);
  CU_ASSERT(text_is_utf8(err->message, strlen(err->message)));
  CU_ASSERT_PTR_NULL(strchr(err->message, '?'));
  echo_service_stop(&echo);
}

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

static void
test_a_server_takes_the_socket_of_a_dead_one_over(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CU_ASSERT_EQUAL(echo_probe(&echo, 30000, NULL), 0);
  CU_ASSERT(rpc_server_stop(TAKE(echo.server), 1000));
  CLEANUP(freep) char *path = temp_dir_path(echo.dir, "csi.sock");
  int stale = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
  (void)unlink(path);
  REQUIRE(bind(stale, (struct sockaddr *)&address, sizeof(address)) == 0);
  (void)close(stale); /* the file stays, as after a kill */
  echo_service_listen(&echo, 2, 10, 30000);
  CU_ASSERT_EQUAL(echo_probe(&echo, 30000, NULL), 0); /* the client finds the new one by itself */
  echo_service_stop(&echo);
}

static void
test_the_socket_is_for_owner_and_group(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(freep) char *path = temp_dir_path(echo.dir, "csi.sock");
  struct stat info;
  REQUIRE(stat(path, &info) == 0);
  CU_ASSERT(S_ISSOCK(info.st_mode));
  CHECK_NUMBER(info.st_mode & 0777, 0660);
  mode_t mask = umask(022);
  (void)umask(mask);
  CU_ASSERT_NOT_EQUAL(mask, 0117); /* the process has its own mask back */
  echo_service_stop(&echo);
}

static void
test_a_bad_endpoint_is_refused_with_the_reason(void)
{
  char too_long[256];
  (void)snprintf(too_long, sizeof(too_long), "unix:///%0120d", 0);
  const struct {
    const char *endpoint;
    enum error_code code;
    const char *message;
  } rows[] = {
      {"", ERROR_INVALID_ARGUMENT, "wants unix:// and an absolute path"},
      {"/csi.sock", ERROR_INVALID_ARGUMENT, "endpoint '/csi.sock': wants unix://"},
      {"unix://csi.sock", ERROR_INVALID_ARGUMENT, "wants unix:// and an absolute path"},
      {"tcp://127.0.0.1:1", ERROR_INVALID_ARGUMENT, "wants unix:// and an absolute path"},
      {too_long, ERROR_INVALID_ARGUMENT, "a socket path has at most 107 characters"},
      {"unix:///nowhere/at/all/csi.sock", ERROR_UNAVAILABLE, "does its folder exist"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    const struct rpc_server_options options = {
        .endpoint = rows[i].endpoint, .max_workers = 1, .default_timeout_ms = 1000};
    struct rpc_server *server = NULL;
    CHECK_ROW(rpc_server_start(&options, &server, &err) == -1, rows[i].endpoint);
    CHECK_ERROR(&err, rows[i].code, rows[i].message);
    CU_ASSERT_PTR_NULL(server);
  }
}

/* Whoever speaks no HTTP/2, or stops in the middle, harms nobody. */
static void
test_garbage_on_the_socket_does_no_harm(void)
{
  static const char *const texts[] = {
      "", "x", "GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"};
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/csi.sock", echo.dir);
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    CU_ASSERT(send(fd, texts[i], strlen(texts[i]), MSG_NOSIGNAL) >= 0);
    CU_ASSERT_EQUAL(echo_probe(&echo, 30000, NULL), 0);
    (void)close(fd);
  }
  echo_service_stop(&echo);
}

static char *
log_of_calls(struct echo_service *echo, enum log_level level)
{
  struct capture capture;
  log_set_level(level);
  capture_start(&capture);
  (void)echo_probe(echo, 30000, NULL);
  CLEANUP(freep) char *id = NULL;
  (void)echo_create(echo, "v1", &id, NULL);
  (void)echo_delete(echo, "10 busy", NULL);
  echo_wait_busy(echo, 0);
  log_set_level(LOG_LEVEL_INFO);
  return capture_stop(&capture);
}

static void
test_a_call_is_logged_once(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(freep) char *log = log_of_calls(&echo, LOG_LEVEL_INFO);
  CU_ASSERT_PTR_NULL(strstr(log, "Probe")); /* it is quiet */
  CU_ASSERT_PTR_NOT_NULL(strstr(log, "level=info request=2 msg=\"CreateVolume done in "));
  CU_ASSERT_PTR_NOT_NULL(strstr(log, "level=warn request=3 msg=\"DeleteVolume failed after "));
  CU_ASSERT_PTR_NOT_NULL(strstr(log, " ms: ABORTED: busy\""));
  unsigned lines = 0;
  for (const char *at = log; (at = strchr(at, '\n')); at++)
    lines++;
  CHECK_NUMBER(lines, 2);
  CLEANUP(freep) char *debug = log_of_calls(&echo, LOG_LEVEL_DEBUG);
  CU_ASSERT_PTR_NOT_NULL(strstr(debug, "msg=\"Probe done in "));
  /* What a handler logs belongs to its call. */
  CU_ASSERT_PTR_NOT_NULL(strstr(debug, "request=5 msg=\"creating 'v1'\""));
  echo_service_stop(&echo);
}

static void
test_secrets_never_reach_the_log(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
  Csi__V1__CreateVolumeRequest__SecretsEntry entry =
      CSI__V1__CREATE_VOLUME_REQUEST__SECRETS_ENTRY__INIT;
  Csi__V1__CreateVolumeRequest__SecretsEntry *entries[] = {&entry};
  entry.key = (char *)"userKey";
  request.secrets = entries;
  request.n_secrets = 1;
  struct capture capture;
  log_set_level(LOG_LEVEL_DEBUG);
  capture_start(&capture);
  for (int is_bad = 0; is_bad < 2; is_bad++) {
    entry.value = (char *)(is_bad ? "hunter2\xff" : "hunter2");
    ProtobufCMessage *response = NULL;
    int r = rpc_client_call(echo.client, "/csi.v1.Controller/CreateVolume", &request.base,
                            &csi__v1__create_volume_response__descriptor, 30000, &response, NULL);
    CU_ASSERT_EQUAL(r, is_bad ? -1 : 0);
    protobuf_c_message_free_unpacked(response, NULL);
  }
  echo_wait_busy(&echo, 0);
  CLEANUP(freep) char *log = capture_stop(&capture);
  log_set_level(LOG_LEVEL_INFO);
  CU_ASSERT_PTR_NOT_NULL(strstr(log, "CreateVolume"));
  CU_ASSERT_PTR_NULL(strstr(log, "hunter2"));
  echo_service_stop(&echo);
}

static void
test_the_bare_name_of_a_method(void)
{
  const struct rpc_method method = {.path = "/csi.v1.Controller/CreateVolume"};
  CHECK_STRING(rpc_method_name(&method), "CreateVolume");
}

UNIT_MAIN("csi/rpc/server", UNIT_TEST(test_a_call_reaches_its_handler_and_the_answer_comes_back),
          UNIT_TEST(test_a_bad_string_never_reaches_the_handler),
          UNIT_TEST(test_a_message_of_another_form_never_reaches_the_handler),
          UNIT_TEST(test_an_unknown_method_is_unimplemented),
          UNIT_TEST(test_a_message_above_1_mib_is_refused),
          UNIT_TEST(test_a_long_error_arrives_cut_between_characters),
          UNIT_TEST(test_a_blocking_handler_is_answered_for_before_the_deadline),
          UNIT_TEST(test_a_call_that_only_waited_is_not_begun_later),
          UNIT_TEST(test_a_caller_without_a_deadline_gets_the_default),
          UNIT_TEST(test_many_late_calls_are_all_answered_in_time),
          UNIT_TEST(test_two_hundred_calls_at_once_each_get_their_own_answer),
          UNIT_TEST(test_no_more_handlers_run_at_once_than_there_are_workers),
          UNIT_TEST(test_a_full_server_says_so_at_once),
          UNIT_TEST(test_stopping_lets_calls_under_way_finish),
          UNIT_TEST(test_stopping_answers_for_a_handler_that_does_not_return),
          UNIT_TEST(test_an_idle_server_stops_at_once),
          UNIT_TEST(test_silent_connections_do_not_hold_up_stopping),
          UNIT_TEST(test_an_idle_server_stops_without_grace),
          UNIT_TEST(test_a_server_takes_the_socket_of_a_dead_one_over),
          UNIT_TEST(test_the_socket_is_for_owner_and_group),
          UNIT_TEST(test_a_bad_endpoint_is_refused_with_the_reason),
          UNIT_TEST(test_garbage_on_the_socket_does_no_harm), UNIT_TEST(test_a_call_is_logged_once),
          UNIT_TEST(test_secrets_never_reach_the_log), UNIT_TEST(test_the_bare_name_of_a_method))
