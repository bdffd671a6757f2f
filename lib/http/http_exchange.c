/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_exchange.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/http/address_policy.h"
#include "lib/http/http_client_parts.h"
#include "lib/http/http_error.h"

/* Of a redirect's body, which nobody reads; behind a longer one the connection is given up. */
#define IGNORED_MAX_BYTES ((uint64_t)64 << 10)
/* How soon a cancelled client or a stall is noticed. */
#define TICK_MS 250
/* After failures that hardly pass. */
#define HOPELESS_RETRIES 2

void
http_exchange_init(struct http_exchange *exchange, struct http_client *client)
{
  *exchange = (struct http_exchange){.client = client};
  http_head_init(&exchange->head);
  exchange->rest = xcalloc(CURL_MAX_WRITE_SIZE, 1);
}

static void
stop(struct http_exchange *exchange)
{
  (void)curl_multi_remove_handle(exchange->handle->multi, exchange->handle->easy);
  curl_slist_free_all(TAKE(exchange->headers));
  free(TAKE(exchange->label));
}

void
http_exchange_clear(struct http_exchange *exchange)
{
  if (exchange->handle) {
    stop(exchange);
    http_pool_give(&exchange->client->pool, TAKE(exchange->handle));
  }
  http_head_clear(&exchange->head);
  free(TAKE(exchange->rest));
}

bool
http_exchange_is_redirect(const struct http_exchange *exchange)
{
  long status = exchange->head.status;
  if (!exchange->follows || !exchange->head.location)
    return false;
  return status == 307 || status == 308 ||
         (!exchange->pushed && (status == 301 || status == 302 || status == 303));
}

/* Callbacks of curl. */

static size_t
on_header(char *line, size_t size, size_t count, void *arg)
{
  struct http_exchange *exchange = arg;
  size_t len = size * count;
  http_head_line(&exchange->head, line, len);
  return exchange->head.bytes > HTTP_HEAD_MAX_BYTES ? 0 : len;
}

/* As much as fits goes to the reader, the rest is kept. */
static void
take_in(struct http_exchange *exchange, const char *data, size_t len)
{
  size_t room = exchange->out_room - exchange->out_len;
  size_t direct = len < room ? len : room;
  if (direct > 0)
    memcpy(exchange->out + exchange->out_len, data, direct);
  exchange->out_len += direct;
  memcpy(exchange->rest, data + direct, len - direct);
  exchange->rest_at = 0;
  exchange->rest_len = len - direct;
}

static size_t
on_body(char *data, size_t size, size_t count, void *arg)
{
  struct http_exchange *exchange = arg;
  size_t len = size * count;
  if (http_exchange_is_redirect(exchange)) {
    exchange->received += len;
    return exchange->received > IGNORED_MAX_BYTES ? 0 : len;
  }
  if (len > exchange->expected - exchange->received) {
    exchange->is_too_long = true;
    return 0;
  }
  if (exchange->rest_len > 0) {
    exchange->is_paused = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  if (len > CURL_MAX_WRITE_SIZE)
    return 0; /* curl promises not to */
  take_in(exchange, data, len);
  exchange->received += len;
  return len;
}

/* For the message when it cannot be connected to. */
static void
note_address(struct http_exchange *exchange, const struct curl_sockaddr *address)
{
  char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 1], port[sizeof("65535")];
  if (getnameinfo(&address->addr, address->addrlen, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return;
  (void)snprintf(exchange->address, sizeof(exchange->address),
                 address->family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static curl_socket_t
on_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
  struct http_exchange *exchange = arg;
  (void)purpose;
  if (!exchange->is_proxied && !exchange->client->options.allow_local_addresses) {
    const char *refusal = address_policy_refusal(&address->addr);
    if (refusal) {
      exchange->refusal = refusal;
      return CURL_SOCKET_BAD;
    }
  }
  note_address(exchange, address);
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* Failures. */

static int
refused_address(struct http_exchange *exchange, struct error **err)
{
  return error_set(err, ERROR_PERMISSION_DENIED,
                   "%s: the host has %s, which is refused unless local addresses are allowed",
                   exchange->label, exchange->refusal);
}

/* A connection that the sandbox refuses is refused the next time too. */
static bool
is_forbidden(const struct http_exchange *exchange)
{
  long failure = 0;
  (void)curl_easy_getinfo(exchange->handle->easy, CURLINFO_OS_ERRNO, &failure);
  return exchange->result == CURLE_COULDNT_CONNECT && failure == EACCES && exchange->address[0];
}

static int
forbidden(struct http_exchange *exchange, struct error **err)
{
  return error_set(err, ERROR_PERMISSION_DENIED,
                   "%s: the sandbox refuses connections to %s; --allow-network %s allows them "
                   "(populator.allowNetworks of the chart)",
                   exchange->label, exchange->address, exchange->address);
}

static int
broken(struct http_exchange *exchange, struct error **err, const char *what)
{
  exchange->failure.is_transient = true;
  return error_set(err, ERROR_UNAVAILABLE, "%s: %s", exchange->label, what);
}

static int
too_long(struct http_exchange *exchange, struct error **err)
{
  return error_set(err, ERROR_DATA_LOSS, "%s: the server sends more than it said", exchange->label);
}

/* What a proxy answered when it was asked for a connection; 0 when it made one, or was not asked.
 */
static long
proxy_refusal(const struct http_exchange *exchange)
{
  long status = 0;
  if (exchange->is_proxied)
    (void)curl_easy_getinfo(exchange->handle->easy, CURLINFO_HTTP_CONNECTCODE, &status);
  return status >= 300 ? status : 0;
}

static int
fail(struct http_exchange *exchange, struct error **err)
{
  long refused = proxy_refusal(exchange);
  if (exchange->refusal && exchange->result == CURLE_COULDNT_CONNECT)
    return refused_address(exchange, err);
  if (is_forbidden(exchange))
    return forbidden(exchange, err);
  if (exchange->head.bytes > HTTP_HEAD_MAX_BYTES)
    return error_set(err, ERROR_DATA_LOSS, "%s: the server sends too many headers",
                     exchange->label);
  if (exchange->is_too_long)
    return too_long(exchange, err);
  if (refused) {
    exchange->failure.is_transient = http_status_is_transient(refused);
    return http_proxy_error_set(err, refused, exchange->label);
  }
  exchange->failure.is_transient = http_error_is_transient(exchange->result);
  if (http_error_is_hopeless(exchange->result))
    exchange->failure.max_retries = HOPELESS_RETRIES;
  return http_error_set(err, exchange->result, exchange->detail, exchange->label);
}

static int
no_answer(struct http_exchange *exchange, struct error **err)
{
  return exchange->result == CURLE_OK ? broken(exchange, err, "the server closed the connection")
                                      : fail(exchange, err);
}

/* Running curl. */

static void
collect(struct http_exchange *exchange)
{
  int left;
  CURLMsg *message;
  while ((message = curl_multi_info_read(exchange->handle->multi, &left))) {
    if (message->msg != CURLMSG_DONE)
      continue;
    exchange->is_done = true;
    exchange->result = message->data.result;
  }
}

/* Bytes either way. Of a head nothing counts: it has to be there in the time of one stall. */
static uint64_t
moved_bytes(const struct http_exchange *exchange)
{
  curl_off_t sent = 0;
  (void)curl_easy_getinfo(exchange->handle->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
  return (uint64_t)sent + exchange->received;
}

typedef bool condition(const struct http_exchange *exchange);

static bool
has_answer(const struct http_exchange *exchange)
{
  return exchange->head.is_complete && !http_exchange_is_redirect(exchange);
}

static bool
has_bytes(const struct http_exchange *exchange)
{
  return exchange->out_len > 0;
}

static bool
is_body_wanted(const struct http_exchange *exchange)
{
  return exchange->pushed->is_wanted || has_answer(exchange);
}

static bool
is_pushed(const struct http_exchange *exchange)
{
  return exchange->pushed->data_len == 0 || exchange->head.is_complete;
}

/* Until the condition holds or there is no more to come. */
static int
run_until(struct http_exchange *exchange, condition *is_met, struct error **err)
{
  http_stall_resume(&exchange->stall, clock_now_ms());
  while (!exchange->is_done && !is_met(exchange)) {
    if (http_client_check(exchange->client, err) < 0)
      return -1;
    int running;
    (void)curl_multi_perform(exchange->handle->multi, &running);
    collect(exchange);
    if (exchange->is_done || is_met(exchange))
      break;
    if (exchange->is_stalled ||
        http_stall_tick(&exchange->stall, clock_now_ms(), moved_bytes(exchange)))
      return broken(exchange, err, "the server does not send anything, or too slowly");
    (void)curl_multi_poll(exchange->handle->multi, NULL, 0, TICK_MS, NULL);
  }
  /* what came in time is handed out first, even if it was too little */
  exchange->is_stalled = http_stall_tick(&exchange->stall, clock_now_ms(), moved_bytes(exchange));
  return 0;
}

/* The exchange. */

static void
reset(struct http_exchange *exchange, const struct http_hop *hop)
{
  http_head_clear(&exchange->head);
  exchange->label = xstrdup(hop->url->label);
  exchange->is_proxied = hop->proxy != NULL;
  exchange->pushed = hop->request->pushed;
  if (exchange->pushed)
    *exchange->pushed = (struct http_pushed){.len = exchange->pushed->len};
  exchange->follows = exchange->pushed || http_setup_is_reading(hop->request);
  exchange->refusal = NULL;
  exchange->address[0] = '\0';
  exchange->detail[0] = '\0';
  exchange->is_done = exchange->is_stalled = exchange->is_paused = exchange->is_too_long = false;
  exchange->failure = (struct http_failure){.max_retries = HTTP_RETRIES_ANY};
  exchange->received = 0;
  exchange->expected = UINT64_MAX;
  exchange->rest_len = exchange->out_room = exchange->out_len = 0;
  unsigned stall_s = hop->request->stall_s;
  http_stall_init(&exchange->stall, stall_s ? stall_s : exchange->client->options.stall_s);
  exchange->stall.may_idle = hop->request->may_idle;
}

static void
set_callbacks(struct http_exchange *exchange)
{
  CURL *easy = exchange->handle->easy;
  (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->detail);
  (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
  (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
  (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
  (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, exchange);
}

int
http_exchange_start(struct http_exchange *exchange, const struct http_hop *hop, struct error **err)
{
  if (exchange->handle)
    stop(exchange);
  else
    exchange->handle = http_pool_take(&exchange->client->pool);
  reset(exchange, hop);
  if (exchange->is_proxied && !exchange->client->options.allow_local_addresses)
    exchange->refusal = address_policy_refusal_of_host(hop->url->host);
  if (exchange->refusal)
    return refused_address(exchange, err);
  http_setup(exchange->handle->easy, hop, &exchange->headers);
  set_callbacks(exchange);
  (void)curl_multi_add_handle(exchange->handle->multi, exchange->handle->easy);
  return 0;
}

/* A redirect is read to its end, so that the connection can be used again. That it was cut off
 * there does no harm: where it leads is known. */
int
http_exchange_wait(struct http_exchange *exchange, struct error **err)
{
  if (run_until(exchange, has_answer, err) < 0)
    return -1;
  if (exchange->head.is_complete)
    return 0;
  return no_answer(exchange, err);
}

int
http_exchange_offer(struct http_exchange *exchange, struct error **err)
{
  if (run_until(exchange, is_body_wanted, err) < 0)
    return -1;
  if (exchange->pushed->is_wanted || exchange->head.is_complete)
    return 0;
  return no_answer(exchange, err);
}

int
http_exchange_push(struct http_exchange *exchange, const void *data, size_t len, struct error **err)
{
  struct http_pushed *pushed = exchange->pushed;
  pushed->data = data;
  pushed->data_len = len;
  if (pushed->is_paused) {
    pushed->is_paused = false;
    (void)curl_easy_pause(exchange->handle->easy, CURLPAUSE_CONT);
    collect(exchange);
  }
  if (run_until(exchange, is_pushed, err) < 0)
    return -1;
  if (pushed->data_len == 0 || exchange->head.is_complete)
    return 0;
  return no_answer(exchange, err);
}

int
http_exchange_expect(struct http_exchange *exchange, uint64_t bytes, struct error **err)
{
  exchange->expected = bytes;
  return exchange->received > bytes ? too_long(exchange, err) : 0;
}

/* What is left over from the last read. */
static size_t
take_rest(struct http_exchange *exchange, void *buf, size_t len)
{
  size_t take = exchange->rest_len < len ? exchange->rest_len : len;
  memcpy(buf, exchange->rest + exchange->rest_at, take);
  exchange->rest_at += take;
  exchange->rest_len -= take;
  return take;
}

static int
check_end(struct http_exchange *exchange, struct error **err)
{
  if (exchange->result != CURLE_OK)
    return fail(exchange, err);
  if (exchange->expected != UINT64_MAX && exchange->received < exchange->expected)
    return broken(exchange, err, "the server sends less than it said");
  return 0;
}

ssize_t
http_exchange_read(struct http_exchange *exchange, void *buf, size_t len, struct error **err)
{
  if (exchange->rest_len > 0)
    return (ssize_t)take_rest(exchange, buf, len);
  exchange->out = buf;
  exchange->out_room = len;
  exchange->out_len = 0;
  if (exchange->is_paused) {
    exchange->is_paused = false;
    (void)curl_easy_pause(exchange->handle->easy, CURLPAUSE_CONT); /* may fill the buffer */
    collect(exchange);
  }
  int r = run_until(exchange, has_bytes, err);
  size_t got = exchange->out_len;
  exchange->out = NULL;
  exchange->out_room = exchange->out_len = 0;
  if (r < 0)
    return -1;
  return got > 0 ? (ssize_t)got : check_end(exchange, err);
}
