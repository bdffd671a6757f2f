/* SPDX-License-Identifier: Apache-2.0 */
/* The server as a client with a plain socket meets it. */
#include "lib/http/http_server.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "tests/unit/unit.h"

/* A body of so many pieces, which breaks off behind them or does not. */
struct pieces {
  struct buffer none; /* what close_state() clears */
  int left;
  bool is_cut;
};

static ssize_t
read_piece(void *state, void *buf, size_t len)
{
  struct pieces *pieces = state;
  REQUIRE(len >= 5);
  if (pieces->left-- == 0)
    return pieces->is_cut ? -1 : 0;
  memcpy(buf, "piece", 5);
  return 5;
}

static void *
begin_stream(struct http_call *call)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct pieces *pieces = xcalloc(1, sizeof(*pieces));
  pieces->left = 3;
  pieces->is_cut = strcmp(http_call_path(call), "/broken") == 0;
  const struct http_stream_body body = {.read = read_piece, .state = pieces, .silence_s = 5};
  if (http_call_answer_stream(call, "text/plain", &body, &err) < 0)
    http_call_answer(call, 505, "text/plain", err->message);
  return pieces;
}

/* Answers GET at once; a PUT with what was sent, unless its path is /cut, /enough or /refused; one
 * of /slow takes its time. */
static void *
begin(void *context, struct http_call *call)
{
  (void)context;
  if (strcmp(http_call_method(call), "PUT") == 0 && strcmp(http_call_path(call), "/refused") != 0)
    return xcalloc(1, sizeof(struct buffer));
  if (strcmp(http_call_path(call), "/whole") == 0 || strcmp(http_call_path(call), "/broken") == 0)
    return begin_stream(call);
  const char *field = http_call_header(call, "X-Word");
  http_call_set_header(call, "X-Path", http_call_path(call));
  http_call_answer(call, field ? 200 : 403, "text/plain", field ? field : "no word\n");
  return NULL;
}

static int
take(void *state, struct http_call *call, const void *data, size_t len)
{
  if (strcmp(http_call_path(call), "/cut") == 0)
    return -1;
  if (strcmp(http_call_path(call), "/enough") == 0) {
    http_call_answer(call, 409, "text/plain", "enough");
    return -1;
  }
  (void)buffer_append(state, data, len);
  return 0;
}

static void
end(void *state, struct http_call *call)
{
  const struct buffer *body = state;
  if (strcmp(http_call_path(call), "/slow") == 0)
    (void)sleep(3);
  http_call_answer(call, 201, "text/plain", body->len ? body->data : "nothing");
}

static int closed;

static void
close_state(void *state)
{
  buffer_clear(state);
  free(state);
  __atomic_add_fetch(&closed, 1, __ATOMIC_SEQ_CST);
}

static const struct http_service service = {begin, take, end, close_state};

static struct http_server *
start(unsigned silence_s)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct http_server *server = NULL;
  const struct http_server_options options = {
      .listen = "127.0.0.1:0", .max_connections = 4, .silence_s = silence_s, .service = &service};
  REQUIRE(http_server_start(&options, &server, &err) == 0);
  return server;
}

static int
dial(const struct http_server *server)
{
  const struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons(http_server_port(server)),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
  return fd;
}

/* What comes until the server hangs up. To be freed. */
static char *
read_all(int fd)
{
  struct buffer text = {0};
  char chunk[4096];
  ssize_t got;
  while ((got = read(fd, chunk, sizeof(chunk))) > 0)
    (void)buffer_append(&text, chunk, (size_t)got);
  return text.data ? text.data : xstrdup("");
}

static char *
ask(const struct http_server *server, const char *request)
{
  CLEANUP(closep) int fd = dial(server);
  REQUIRE(write(fd, request, strlen(request)) == (ssize_t)strlen(request));
  return read_all(fd);
}

static void
test_a_request_is_answered_at_its_head(void)
{
  CLEANUP(http_server_stopp) struct http_server *server = start(5);
  CLEANUP(freep)
  char *answer = ask(server, "GET /a%20b?c=d HTTP/1.1\r\nHost: x\r\nX-Word: hello\r\n"
                             "Connection: close\r\n\r\n");
  CU_ASSERT(strncmp(answer, "HTTP/1.1 200 ", 13) == 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(answer, "\r\nX-Path: /a b\r\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(answer, "\r\n\r\nhello"));
}

static void
test_a_body_comes_in_pieces(void)
{
  CLEANUP(http_server_stopp) struct http_server *server = start(5);
  CLEANUP(freep)
  char *answer = ask(server, "PUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                             "Connection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  CU_ASSERT(strncmp(answer, "HTTP/1.1 201 ", 13) == 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(answer, "\r\n\r\nabcde"));
}

/* The client need not send a body that nobody wants. */
static void
test_a_refusal_does_not_wait_for_the_body(void)
{
  CLEANUP(http_server_stopp) struct http_server *server = start(5);
  CLEANUP(closep) int fd = dial(server);
  static const char head[] = "PUT /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n"
                             "Expect: 100-continue\r\n\r\n";
  REQUIRE(write(fd, head, sizeof(head) - 1) == (ssize_t)sizeof(head) - 1);
  char answer[16] = {0};
  REQUIRE(recv(fd, answer, 12, MSG_WAITALL) == 12);
  CHECK_STRING(answer, "HTTP/1.1 403");
}

static void
test_what_must_not_go_on_is_cut(void)
{
  CLEANUP(http_server_stopp) struct http_server *server = start(5);
  int before = __atomic_load_n(&closed, __ATOMIC_SEQ_CST);
  CLEANUP(freep)
  char *answer = ask(server, "PUT /cut HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  CHECK_STRING(answer, "");
  http_server_stop(TAKE(server));
  CU_ASSERT_EQUAL(__atomic_load_n(&closed, __ATOMIC_SEQ_CST), before + 1);
}

/* Who has sent a part of it is told why no more is wanted, behind the rest. */
static void
test_a_body_may_be_refused_in_its_middle(void)
{
  CLEANUP(http_server_stopp) struct http_server *server = start(5);
  CLEANUP(freep)
  char *answer = ask(server, "PUT /enough HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n"
                             "Connection: close\r\n\r\n0123456789");
  CU_ASSERT(strncmp(answer, "HTTP/1.1 409 ", 13) == 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(answer, "\r\n\r\nenough"));
  CLEANUP(freep)
  char *none = ask(server, "PUT /enough HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n"
                           "Connection: close\r\n\r\n0123456789");
  CHECK_STRING(none, "");
}

/* A client who waits for an answer is not silent. */
static void
test_an_answer_may_take_longer_than_silence(void)
{
  CLEANUP(http_server_stopp) struct http_server *server = start(1);
  CLEANUP(freep)
  char *answer = ask(server, "PUT /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                             "Connection: close\r\n\r\nabc");
  CU_ASSERT(strncmp(answer, "HTTP/1.1 201 ", 13) == 0);
}

static void
test_a_silent_client_is_dropped(void)
{
  CLEANUP(http_server_stopp) struct http_server *server = start(1);
  CLEANUP(freep) char *answer = ask(server, "PUT /x HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  CHECK_STRING(answer, "");
}

static void
test_a_stream_has_an_end_unless_it_broke(void)
{
  CLEANUP(http_server_stopp) struct http_server *server = start(5);
  static const char end[] = "\r\n0\r\n\r\n";
  CLEANUP(freep)
  char *whole = ask(server, "GET /whole HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CLEANUP(freep)
  char *broken = ask(server, "GET /broken HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CLEANUP(freep) char *old = ask(server, "GET /whole HTTP/1.0\r\n\r\n");
  CU_ASSERT_PTR_NOT_NULL(strstr(whole, "chunked"));
  CU_ASSERT_PTR_NOT_NULL(strstr(whole, "piece"));
  CU_ASSERT_PTR_NOT_NULL(strstr(whole, end));
  CU_ASSERT_PTR_NOT_NULL(strstr(broken, "piece"));
  CU_ASSERT_PTR_NULL(strstr(broken, end));
  CU_ASSERT_PTR_NOT_NULL(strstr(old, " 505 "));
  CU_ASSERT_PTR_NULL(strstr(old, "piece"));
}

static void
test_bad_addresses_and_certificates_are_told(void)
{
  static const char *const addresses[] = {"", "8080", "host.example:80", "127.0.0.1:", "[::1"};
  for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct http_server *server = NULL;
    const struct http_server_options options = {.listen = addresses[i], .service = &service};
    REQUIRE(http_server_start(&options, &server, &err) < 0);
    CU_ASSERT_EQUAL(err->code, ERROR_INVALID_ARGUMENT);
  }
  CLEANUP(error_freep) struct error *err = NULL;
  struct http_server *server = NULL;
  const struct http_server_options options = {
      .listen = "127.0.0.1:0", .certificate = "/dev/null", .key = "/dev/null", .service = &service};
  REQUIRE(http_server_start(&options, &server, &err) < 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(err->message, "/dev/null"));
}

UNIT_MAIN("lib/http/http_server", UNIT_TEST(test_a_request_is_answered_at_its_head),
          UNIT_TEST(test_a_body_comes_in_pieces),
          UNIT_TEST(test_a_refusal_does_not_wait_for_the_body),
          UNIT_TEST(test_what_must_not_go_on_is_cut),
          UNIT_TEST(test_a_body_may_be_refused_in_its_middle),
          UNIT_TEST(test_an_answer_may_take_longer_than_silence),
          UNIT_TEST(test_a_silent_client_is_dropped),
          UNIT_TEST(test_a_stream_has_an_end_unless_it_broke),
          UNIT_TEST(test_bad_addresses_and_certificates_are_told))
