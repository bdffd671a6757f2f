/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_transfer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/memory.h"
#include "lib/http/http_check.h"
#include "lib/http/http_client_parts.h"
#include "lib/http/http_error.h"
#include "lib/http/http_proxy.h"

#define REDIRECTS_MAX 10
/* A server that ignores ranges is asked so many times more for one. */
#define IGNORED_RETRIES 4
/* Of a refusal's body, for the message. */
#define REFUSAL_MAX_BYTES 1024

static int
start(struct http_transfer *transfer, struct error **err)
{
  struct http_client *client = transfer->exchange.client;
  const struct http_hop hop = {.client = client,
                               .request = transfer->request,
                               .url = &transfer->url,
                               .user = transfer->user,
                               .password = transfer->password,
                               .proxy = http_proxy_for(&transfer->url, client->options.proxy),
                               .is_whole = transfer->is_whole,
                               .is_fresh = transfer->is_retry,
                               .is_trusted = transfer->is_trusted};
  if (hop.proxy && http_proxy_check(hop.proxy, err) < 0)
    return error_wrap(err, "%s", transfer->url.label);
  return http_exchange_start(&transfer->exchange, &hop, err);
}

static int
ask(struct http_transfer *transfer, struct error **err)
{
  if (start(transfer, err) < 0)
    return -1;
  return transfer->request->pushed ? http_exchange_offer(&transfer->exchange, err)
                                   : http_exchange_wait(&transfer->exchange, err);
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
  if (http_url_resolve(&transfer->url, transfer->exchange.head.location, &next, err) < 0)
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

/* Asks until an answer is not a redirect. */
static int
ask_around(struct http_transfer *transfer, struct error **err)
{
  if (ask(transfer, err) < 0)
    return -1;
  while (http_exchange_is_redirect(&transfer->exchange)) {
    if (follow(transfer, err) < 0 || ask(transfer, err) < 0)
      return -1;
  }
  return 0;
}

/* From the request's own URL, or, going on with a file of a known version, from where it was found.
 */
static int
set_out(struct http_transfer *transfer, struct error **err)
{
  const struct http_request *request = transfer->request;
  bool is_going_on = request->if_match || request->if_unmodified_since || request->if_total;
  http_url_clear(&transfer->url);
  if (http_url_parse(request->url, &transfer->url, err) < 0)
    return -1;
  free(transfer->user);
  free(transfer->password);
  transfer->user = TAKE(transfer->url.user);
  transfer->password = TAKE(transfer->url.password);
  transfer->is_trusted = true;
  CLEANUP(freep) char *place = NULL;
  if (is_going_on && !transfer->is_direct)
    place = http_place_find(&transfer->exchange.client->place, request->url, &transfer->is_trusted);
  transfer->is_direct = place != NULL;
  transfer->redirects = 0;
  if (!place)
    return 0;
  http_url_clear(&transfer->url);
  return http_url_parse(place, &transfer->url, err);
}

/* A place that refuses what it has given before was meant for a while only. */
static bool
is_outlived(const struct http_transfer *transfer)
{
  long status = transfer->exchange.head.status;
  return transfer->is_direct &&
         (status == 400 || status == 401 || status == 403 || status == 404 || status == 410);
}

/* An empty file has no range at all, and not every server says with its 416 that it is empty. One
 * that sends a part without saying of how much does not tell where the file ends. */
static bool
is_better_whole(const struct http_transfer *transfer)
{
  const struct http_head *head = &transfer->exchange.head;
  return head->status == 416 || (head->status == 206 && head->has_range &&
                                 head->range.total == UINT64_MAX && !transfer->request->if_total);
}

static int
find_answer(struct http_transfer *transfer, struct error **err)
{
  struct http_place *place = &transfer->exchange.client->place;
  if (set_out(transfer, err) < 0 || ask_around(transfer, err) < 0)
    return -1;
  if (is_outlived(transfer)) {
    http_place_forget(place, transfer->url.text);
    if (set_out(transfer, err) < 0 || ask_around(transfer, err) < 0)
      return -1;
  }
  if (transfer->request->or_whole && is_better_whole(transfer)) {
    transfer->is_whole = true;
    if (ask(transfer, err) < 0)
      return -1;
  }
  return 0;
}

static bool
is_good(const struct http_transfer *transfer)
{
  return transfer->exchange.head.status >= 200 && transfer->exchange.head.status < 300;
}

static uint64_t
expected_of(const struct http_transfer *transfer)
{
  const struct http_head *head = &transfer->exchange.head;
  if (head->status == 206 && head->has_range && head->range.has_bytes)
    return head->range.last - head->range.first + 1;
  return http_setup_is_head(transfer->request) ? UINT64_MAX : head->content_length;
}

/* Worth another attempt, from where the redirects begin. */
static void
on_ignored_range(struct http_transfer *transfer)
{
  transfer->is_range_ignored = true;
  transfer->exchange.failure =
      (struct http_failure){.is_transient = true, .max_retries = IGNORED_RETRIES};
  if (transfer->is_direct)
    http_place_forget(&transfer->exchange.client->place, transfer->url.text);
}

static int
check_answer(struct http_transfer *transfer, struct error **err)
{
  const struct http_head *head = &transfer->exchange.head;
  if (http_check_ignores_range(transfer->request, head))
    on_ignored_range(transfer);
  if ((is_good(transfer) || head->status == 416) &&
      http_check_head(transfer->request, head, transfer->url.label, err) < 0)
    return -1;
  if (is_good(transfer) && transfer->redirects > 0)
    http_place_keep(&transfer->exchange.client->place, transfer->request->url, transfer->url.text,
                    transfer->is_trusted);
  return http_exchange_expect(&transfer->exchange, expected_of(transfer), err);
}

int
http_transfer_begin(struct http_transfer *transfer, struct http_client *client,
                    const struct http_request *request, bool is_retry, struct error **err)
{
  *transfer = (struct http_transfer){.request = request, .is_retry = is_retry};
  http_exchange_init(&transfer->exchange, client);
  if (http_client_check(client, err) < 0 || http_setup_check(client, request, err) < 0 ||
      find_answer(transfer, err) < 0)
    return -1;
  return check_answer(transfer, err);
}

int
http_transfer_offer(struct http_transfer *transfer, struct http_client *client,
                    const struct http_request *request, struct error **err)
{
  *transfer = (struct http_transfer){.request = request, .is_retry = true};
  http_exchange_init(&transfer->exchange, client);
  if (http_client_check(client, err) < 0 || http_setup_check(client, request, err) < 0 ||
      set_out(transfer, err) < 0)
    return -1;
  return ask_around(transfer, err);
}

ssize_t
http_transfer_read(struct http_transfer *transfer, void *buf, size_t len, struct error **err)
{
  return http_exchange_read(&transfer->exchange, buf, len, err);
}

void
http_transfer_end(struct http_transfer *transfer)
{
  http_exchange_clear(&transfer->exchange);
  http_url_clear(&transfer->url);
  free(TAKE(transfer->user));
  free(TAKE(transfer->password));
}

const struct http_head *
http_transfer_head(const struct http_transfer *transfer)
{
  return &transfer->exchange.head;
}

void
http_transfer_take_head(struct http_transfer *transfer, struct http_response *ret_response)
{
  struct http_head *head = &transfer->exchange.head;
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

/* How long the server wants to be left alone. */
static int64_t
patience_of(const struct http_head *head)
{
  uint64_t seconds;
  if (!head->retry_after || http_retry_after_parse(head->retry_after, time(NULL), &seconds) < 0)
    return 0;
  return seconds < INT_MAX / 1000 ? (int64_t)seconds * 1000 : INT_MAX;
}

int
http_transfer_refused(struct http_transfer *transfer, struct error **err)
{
  const struct http_head *head = &transfer->exchange.head;
  struct buffer body = {0};
  char chunk[REFUSAL_MAX_BYTES];
  ssize_t got = http_transfer_read(transfer, chunk, sizeof(chunk), NULL);
  if (got > 0)
    (void)buffer_append(&body, chunk, (size_t)got);
  transfer->exchange.failure =
      (struct http_failure){.is_transient = http_status_is_transient(head->status),
                            .max_retries = HTTP_RETRIES_ANY,
                            .retry_after_ms = patience_of(head)};
  http_status_error_set(err, head->status, transfer->url.label, &body);
  buffer_clear(&body);
  return -1;
}
