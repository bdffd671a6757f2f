/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_put.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/http/http_pushed.h"
#include "lib/http/http_transfer.h"

/* A server may have to copy the file, or make it durable, before it answers. */
#define ANSWER_STALL_S 300
/* Of the answer, which nobody needs. */
#define ANSWER_MAX_BYTES 65536

struct http_put {
  struct http_pushed pushed;
  struct http_request request;
  struct http_transfer transfer;
};

/* Up to the moment when the server wants the body, or its refusal. Where there is none, all is done
 * already. */
static int
attempt(struct http_put *put, struct http_client *client, struct error **err)
{
  if (http_transfer_offer(&put->transfer, client, &put->request, err) < 0)
    return -1;
  const struct http_head *head = http_transfer_head(&put->transfer);
  bool is_done = put->pushed.len == 0 && head->status / 100 == 2;
  return head->is_complete && !is_done ? http_transfer_refused(&put->transfer, err) : 0;
}

int
http_put_open(struct http_client *client, const struct http_request *request, uint64_t size,
              struct http_put **ret_put, struct error **err)
{
  struct http_put *put = xcalloc(1, sizeof(*put));
  put->request = *request;
  put->request.method = "PUT";
  put->request.pushed = &put->pushed;
  put->pushed.len = size;
  struct http_retry retry = {.client = client};
  for (;;) {
    CLEANUP(error_freep) struct error *error = NULL;
    if (attempt(put, client, &error) == 0) {
      *ret_put = put;
      return 0;
    }
    http_transfer_end(&put->transfer);
    if (!http_retry_again(&retry, &put->transfer.exchange.failure, &error, err)) {
      free(put);
      return -1;
    }
  }
}

int
http_put_write(struct http_put *put, const void *data, size_t len, struct error **err)
{
  uint64_t room = put->pushed.len - put->pushed.given;
  if (len > room)
    return error_set(err, ERROR_INTERNAL, "%s: %" PRIu64 " bytes more than were announced",
                     put->transfer.url.label, len - room);
  if (http_exchange_push(&put->transfer.exchange, data, len, err) < 0)
    return -1;
  return http_transfer_head(&put->transfer)->is_complete && put->pushed.given < put->pushed.len
             ? http_transfer_refused(&put->transfer, err)
             : 0;
}

/* To its end, so that curl does not take the answer for broken. */
static int
pass_over_body(struct http_transfer *transfer, struct error **err)
{
  char chunk[4096];
  ssize_t got;
  size_t total = 0;
  while ((got = http_transfer_read(transfer, chunk, sizeof(chunk), err)) > 0) {
    total += (size_t)got;
    if (total > ANSWER_MAX_BYTES)
      return 0;
  }
  return (int)got;
}

int
http_put_finish(struct http_put *put, struct http_response *ret_response, struct error **err)
{
  if (put->pushed.given < put->pushed.len)
    return error_set(err, ERROR_INTERNAL, "%s: %" PRIu64 " bytes less than were announced",
                     put->transfer.url.label, put->pushed.len - put->pushed.given);
  http_stall_init(&put->transfer.exchange.stall, ANSWER_STALL_S);
  if (http_exchange_wait(&put->transfer.exchange, err) < 0)
    return -1;
  if (http_transfer_head(&put->transfer)->status / 100 != 2)
    return http_transfer_refused(&put->transfer, err);
  if (pass_over_body(&put->transfer, err) < 0)
    return -1;
  http_transfer_take_head(&put->transfer, ret_response);
  return 0;
}

void
http_put_free(struct http_put *put)
{
  if (!put)
    return;
  http_transfer_end(&put->transfer);
  free(put);
}
