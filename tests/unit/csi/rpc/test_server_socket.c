/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server listens, and who else may knock there. */
#include "csi/rpc/server.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "lib/base/memory.h"
#include "tests/unit/csi/rpc/echo_service.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

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

UNIT_MAIN("csi/rpc/server_socket", UNIT_TEST(test_a_server_takes_the_socket_of_a_dead_one_over),
          UNIT_TEST(test_the_socket_is_for_owner_and_group),
          UNIT_TEST(test_a_bad_endpoint_is_refused_with_the_reason),
          UNIT_TEST(test_garbage_on_the_socket_does_no_harm))
