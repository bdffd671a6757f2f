/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_send.h"

#include "lib/base/memory.h"
#include "lib/http/http_error.h"
#include "lib/http/http_retry.h"
#include "lib/http/http_transfer.h"

#define DEFAULT_MAX_BODY ((uint64_t)16 << 20)
/* Of the body of a refusal, which nobody asked for. */
#define REFUSAL_KEPT_BYTES ((size_t)64 << 10)

static int
read_body(struct http_transfer *transfer, struct buffer *body, struct error **err)
{
  bool is_refusal = http_transfer_head(transfer)->status >= 400;
  uint64_t max = transfer->request->max_body ? transfer->request->max_body : DEFAULT_MAX_BODY;
  char chunk[16384];
  for (;;) {
    ssize_t got = http_transfer_read(transfer, chunk, sizeof(chunk), err);
    if (got <= 0)
      return (int)got;
    if (is_refusal && body->len + (size_t)got > REFUSAL_KEPT_BYTES)
      return 0;
    if (body->len + (size_t)got > max)
      return error_set(err, ERROR_RESOURCE_EXHAUSTED, "%s: the answer is larger than %llu bytes",
                       transfer->url.label, (unsigned long long)max);
    (void)buffer_append(body, chunk, (size_t)got);
  }
}

/* Refusals that may pass are failures as long as there are attempts left. */
static int
attempt(struct http_transfer *transfer, const struct http_retry *retry,
        const struct http_request *request, struct http_response *ret_response, struct error **err)
{
  if (http_transfer_begin(transfer, retry->client, request, retry->failures > 0, err) < 0)
    return -1;
  long status = http_transfer_head(transfer)->status;
  if ((http_status_is_transient(status) && http_retry_is_left(retry)) ||
      (request->has_range && status / 100 != 2))
    return http_transfer_refused(transfer, err);
  struct buffer body = {0};
  if (read_body(transfer, &body, err) < 0) {
    buffer_clear(&body);
    return -1;
  }
  http_transfer_take_head(transfer, ret_response);
  ret_response->body = body;
  return 0;
}

int
http_send(struct http_client *client, const struct http_request *request,
          struct http_response *ret_response, struct error **err)
{
  struct http_retry retry = {.client = client,
                             .is_once = request->is_once || request->is_retried_by_caller};
  for (;;) {
    CLEANUP(error_freep) struct error *error = NULL;
    struct http_transfer transfer;
    int r = attempt(&transfer, &retry, request, ret_response, &error);
    http_transfer_end(&transfer);
    if (r == 0) {
      ret_response->is_repeated = retry.failures > 0;
      return 0;
    }
    if (!http_retry_again(&retry, &transfer.exchange.failure, &error, err))
      return -1;
  }
}
