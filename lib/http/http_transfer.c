/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_transfer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/http/address_policy.h"
#include "lib/http/http_check.h"
#include "lib/http/http_client_parts.h"
#include "lib/http/http_error.h"
#include "lib/http/http_proxy.h"
#include "lib/http/http_setup.h"

#define REDIRECTS_MAX 10
/* Of a redirect's body, which nobody reads; behind a longer one the connection is given up. */
#define IGNORED_MAX_BYTES ((uint64_t)64 << 10)
/* Of a refusal's body, for the message. */
#define REFUSAL_MAX_BYTES 1024
/* How soon a cancelled client or a stall is noticed. */
#define TICK_MS 250
/* A name that does not resolve is most often misspelt: the person should not wait for long. */
#define RESOLVE_RETRIES 2

static bool
is_redirect(const struct http_transfer *transfer)
{
  const char *method = http_setup_method(transfer->request);
  long status = transfer->head.status;
  return transfer->head.location && (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) &&
         (status == 301 || status == 302 || status == 303 || status == 307 || status == 308);
}

/* Callbacks of curl. */

static size_t
on_header(char *line, size_t size, size_t count, void *arg)
{
  struct http_transfer *transfer = arg;
  size_t len = size * count;
  http_head_line(&transfer->head, line, len);
  return transfer->head.bytes > HTTP_HEAD_MAX_BYTES ? 0 : len;
}

static size_t
on_body(char *data, size_t size, size_t count, void *arg)
{
  struct http_transfer *transfer = arg;
  size_t len = size * count;
  if (is_redirect(transfer)) {
    transfer->received += len;
    return transfer->received > IGNORED_MAX_BYTES ? 0 : len;
  }
  size_t room = transfer->out_room - transfer->out_len;
  if (transfer->rest_len > 0 || (room == 0 && len > CURL_MAX_WRITE_SIZE)) {
    transfer->is_paused = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  size_t direct = len < room ? len : room;
  if (len - direct > CURL_MAX_WRITE_SIZE)
    return 0; /* curl promises not to */
  if (direct > 0)
    memcpy(transfer->out + transfer->out_len, data, direct);
  transfer->out_len += direct;
  memcpy(transfer->rest, data + direct, len - direct);
  transfer->rest_at = 0;
  transfer->rest_len = len - direct;
  transfer->received += len;
  return transfer->received > transfer->expected ? 0 : len;
}

static curl_socket_t
on_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
  struct http_transfer *transfer = arg;
  (void)purpose;
  if (!transfer->is_proxied && !transfer->client->options.allow_local_addresses) {
    const char *refusal = address_policy_refusal(&address->addr);
    if (refusal) {
      transfer->refusal = refusal;
      return CURL_SOCKET_BAD;
    }
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* Failures. */

static int
refused_address(struct http_transfer *transfer, struct error **err)
{
  return error_set(err, ERROR_PERMISSION_DENIED,
                   "%s: the host has %s, which is refused unless local addresses are allowed",
                   transfer->url.label, transfer->refusal);
}

static int
broken(struct http_transfer *transfer, struct error **err, const char *what)
{
  transfer->is_transient = true;
  return error_set(err, ERROR_UNAVAILABLE, "%s: %s", transfer->url.label, what);
}

static int
fail(struct http_transfer *transfer, struct error **err)
{
  const char *label = transfer->url.label;
  if (transfer->refusal && transfer->result == CURLE_COULDNT_CONNECT)
    return refused_address(transfer, err);
  if (transfer->head.bytes > HTTP_HEAD_MAX_BYTES)
    return error_set(err, ERROR_DATA_LOSS, "%s: the server sends too many headers", label);
  if (transfer->received > transfer->expected)
    return error_set(err, ERROR_DATA_LOSS, "%s: the server sends more than it said", label);
  transfer->is_transient = http_error_is_transient(transfer->result);
  if (transfer->result == CURLE_COULDNT_RESOLVE_HOST)
    transfer->max_retries = RESOLVE_RETRIES;
  return http_error_set(err, transfer->result, transfer->detail, label);
}

/* Running curl. */

static void
collect(struct http_transfer *transfer)
{
  int left;
  CURLMsg *message;
  while ((message = curl_multi_info_read(transfer->handle->multi, &left))) {
    if (message->msg != CURLMSG_DONE)
      continue;
    transfer->is_done = true;
    transfer->result = message->data.result;
  }
}

/* Bytes either way. Of a head nothing counts: it has to be there in the time of one stall. */
static uint64_t
moved_bytes(const struct http_transfer *transfer)
{
  curl_off_t sent = 0;
  (void)curl_easy_getinfo(transfer->handle->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
  return (uint64_t)sent + transfer->received;
}

typedef bool condition(const struct http_transfer *transfer);

static bool
has_answer(const struct http_transfer *transfer)
{
  return transfer->head.is_complete && !is_redirect(transfer);
}

static bool
has_bytes(const struct http_transfer *transfer)
{
  return transfer->out_len > 0;
}

/* Until the condition holds or there is no more to come. */
static int
run_until(struct http_transfer *transfer, condition *is_met, struct error **err)
{
  http_stall_resume(&transfer->stall, clock_now_ms());
  while (!transfer->is_done && !is_met(transfer)) {
    if (http_client_check(transfer->client, err) < 0)
      return -1;
    int running;
    (void)curl_multi_perform(transfer->handle->multi, &running);
    collect(transfer);
    if (transfer->is_done || is_met(transfer))
      break;
    if (http_stall_tick(&transfer->stall, clock_now_ms(), moved_bytes(transfer)))
      return broken(transfer, err, "the server does not send anything, or too slowly");
    (void)curl_multi_poll(transfer->handle->multi, NULL, 0, TICK_MS, NULL);
  }
  (void)http_stall_tick(&transfer->stall, clock_now_ms(), moved_bytes(transfer));
  return 0;
}

/* One question to one server. */

static int
hop_start(struct http_transfer *transfer, struct error **err)
{
  struct http_client *client = transfer->client;
  const char *proxy = http_proxy_for(&transfer->url, client->options.proxy);
  transfer->is_proxied = proxy != NULL;
  transfer->refusal = NULL;
  if (proxy && !client->options.allow_local_addresses)
    transfer->refusal = address_policy_refusal_of_host(transfer->url.host);
  if (transfer->refusal)
    return refused_address(transfer, err);
  CURL *easy = transfer->handle->easy;
  const struct http_hop hop = {.client = client,
                               .request = transfer->request,
                               .url = &transfer->url,
                               .user = transfer->user,
                               .password = transfer->password,
                               .proxy = proxy,
                               .is_trusted = transfer->is_trusted};
  http_setup(easy, &hop, &transfer->headers);
  transfer->detail[0] = '\0';
  (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->detail);
  (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
  (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
  (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
  (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
  http_head_clear(&transfer->head);
  transfer->received = 0;
  transfer->is_done = false;
  http_stall_init(&transfer->stall, transfer->request->stall_s ? transfer->request->stall_s
                                                               : client->options.stall_s);
  (void)curl_multi_add_handle(transfer->handle->multi, easy);
  return 0;
}

static void
hop_end(struct http_transfer *transfer)
{
  (void)curl_multi_remove_handle(transfer->handle->multi, transfer->handle->easy);
  curl_slist_free_all(TAKE(transfer->headers));
}

/* Where the redirect leads becomes the URL that is asked next. */
static int
follow(struct http_transfer *transfer, struct error **err)
{
  const char *label = transfer->url.label;
  if (++transfer->redirects > REDIRECTS_MAX)
    return error_set(err, ERROR_FAILED_PRECONDITION, "%s: more than %d redirects", label,
                     REDIRECTS_MAX);
  struct http_url next = {0};
  if (http_url_resolve(&transfer->url, transfer->head.location, &next, err) < 0)
    return error_wrap(err, "%s: redirect", label);
  bool is_same = http_url_same_server(&transfer->url, &next);
  int r = 0;
  if (transfer->url.is_tls && !next.is_tls)
    r = error_set(err, ERROR_PERMISSION_DENIED,
                  "%s: a redirect from https to http, to %s, is refused", label, next.label);
  else if (!is_same && transfer->request->s3 && transfer->request->s3->access_key)
    r = error_set(
        err, ERROR_FAILED_PRECONDITION,
        "%s: the store redirects to %s, which must not see the keys: set the endpoint and "
        "the region that the bucket is in",
        label, next.label);
  if (r < 0) {
    http_url_clear(&next);
    return -1;
  }
  transfer->is_trusted = transfer->is_trusted && is_same;
  http_url_clear(&transfer->url);
  transfer->url = next;
  return 0;
}

/* 1 when the final answer is there, 0 when another server is to be asked.
 * A redirect is read to its end, so that the connection can be used again. That it was cut off
 * there does no harm: where it leads is known. */
static int
hop(struct http_transfer *transfer, struct error **err)
{
  if (hop_start(transfer, err) < 0)
    return -1;
  if (run_until(transfer, has_answer, err) < 0)
    return -1;
  if (has_answer(transfer))
    return 1;
  if (!transfer->head.is_complete)
    return transfer->result == CURLE_OK ? broken(transfer, err, "the server closed the connection")
                                        : fail(transfer, err);
  hop_end(transfer);
  return follow(transfer, err);
}

static uint64_t
expected_of(const struct http_transfer *transfer)
{
  const struct http_head *head = &transfer->head;
  if (head->status == 206 && head->has_range && head->range.has_bytes)
    return head->range.last - head->range.first + 1;
  return strcmp(http_setup_method(transfer->request), "HEAD") == 0 ? UINT64_MAX
                                                                   : head->content_length;
}

/* "Retry-After" of any answer, in case it turns out to be a failure. */
static void
note_patience(struct http_transfer *transfer)
{
  uint64_t seconds;
  if (transfer->head.retry_after &&
      http_retry_after_parse(transfer->head.retry_after, time(NULL), &seconds) == 0)
    transfer->retry_after_ms = seconds < INT_MAX ? (int64_t)seconds * 1000 : INT_MAX;
}

static int
start(struct http_transfer *transfer, struct error **err)
{
  if (http_client_check(transfer->client, err) < 0 ||
      http_setup_check(transfer->client, transfer->request, err) < 0 ||
      http_url_parse(transfer->request->url, &transfer->url, err) < 0)
    return -1;
  transfer->user = TAKE(transfer->url.user);
  transfer->password = TAKE(transfer->url.password);
  transfer->handle = http_pool_take(&transfer->client->pool);
  return 0;
}

int
http_transfer_begin(struct http_transfer *transfer, struct http_client *client,
                    const struct http_request *request, struct error **err)
{
  *transfer = (struct http_transfer){.client = client,
                                     .request = request,
                                     .is_trusted = true,
                                     .expected = UINT64_MAX,
                                     .max_retries = UINT_MAX};
  http_head_init(&transfer->head);
  transfer->rest = xcalloc(CURL_MAX_WRITE_SIZE, 1);
  if (start(transfer, err) < 0)
    return -1;
  int r;
  do {
    r = hop(transfer, err);
  } while (r == 0);
  if (r < 0)
    return -1;
  note_patience(transfer);
  long status = transfer->head.status;
  if (((status >= 200 && status < 300) || status == 416) &&
      http_check_head(request, &transfer->head, transfer->url.label, err) < 0)
    return -1;
  transfer->expected = expected_of(transfer);
  if (transfer->received > transfer->expected)
    return fail(transfer, err);
  return 0;
}

/* What is left over from the last read. */
static size_t
take_rest(struct http_transfer *transfer, void *buf, size_t len)
{
  size_t take = transfer->rest_len < len ? transfer->rest_len : len;
  memcpy(buf, transfer->rest + transfer->rest_at, take);
  transfer->rest_at += take;
  transfer->rest_len -= take;
  return take;
}

static int
check_end(struct http_transfer *transfer, struct error **err)
{
  if (transfer->result != CURLE_OK)
    return fail(transfer, err);
  if (transfer->expected != UINT64_MAX && transfer->received < transfer->expected)
    return broken(transfer, err, "the server sends less than it said");
  return 0;
}

ssize_t
http_transfer_read(struct http_transfer *transfer, void *buf, size_t len, struct error **err)
{
  if (transfer->rest_len > 0)
    return (ssize_t)take_rest(transfer, buf, len);
  transfer->out = buf;
  transfer->out_room = len;
  transfer->out_len = 0;
  if (transfer->is_paused) {
    transfer->is_paused = false;
    (void)curl_easy_pause(transfer->handle->easy, CURLPAUSE_CONT); /* may fill the buffer */
    collect(transfer);
  }
  int r = run_until(transfer, has_bytes, err);
  size_t got = transfer->out_len;
  transfer->out = NULL;
  transfer->out_room = transfer->out_len = 0;
  if (r < 0)
    return -1;
  if (got > 0)
    return (ssize_t)got;
  return check_end(transfer, err);
}

void
http_transfer_end(struct http_transfer *transfer)
{
  if (transfer->handle) {
    hop_end(transfer);
    http_pool_give(&transfer->client->pool, TAKE(transfer->handle));
  }
  http_head_clear(&transfer->head);
  http_url_clear(&transfer->url);
  free(TAKE(transfer->user));
  free(TAKE(transfer->password));
  free(TAKE(transfer->rest));
}

void
http_transfer_take_head(struct http_transfer *transfer, struct http_response *ret_response)
{
  struct http_head *head = &transfer->head;
  *ret_response = (struct http_response){
      .status = head->status,
      .etag = TAKE(head->etag),
      .last_modified = TAKE(head->last_modified),
      .content_type = TAKE(head->content_type),
      .content_encoding = TAKE(head->content_encoding),
      .location = TAKE(head->location),
      .url = TAKE(transfer->url.text),
      .www_authenticate = TAKE(head->www_authenticate),
      .docker_digest = TAKE(head->docker_digest),
      .upload_range = TAKE(head->upload_range),
      .content_length = head->content_length,
      .accepts_ranges = head->accepts_ranges,
      .range_total = head->has_range ? head->range.total : UINT64_MAX,
  };
}

int
http_transfer_refused(struct http_transfer *transfer, struct error **err)
{
  struct buffer body = {0};
  char chunk[REFUSAL_MAX_BYTES];
  CLEANUP(error_freep) struct error *ignored = NULL;
  ssize_t got = http_transfer_read(transfer, chunk, sizeof(chunk), &ignored);
  if (got > 0)
    (void)buffer_append(&body, chunk, (size_t)got);
  transfer->is_transient = http_status_is_transient(transfer->head.status);
  http_status_error_set(err, transfer->head.status, transfer->url.label, &body);
  buffer_clear(&body);
  return -1;
}
