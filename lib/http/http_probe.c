/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_probe.h"

#include "lib/http/http_retry.h"
#include "lib/http/http_transfer.h"

/* The size of the file as a head tells it. */
static uint64_t
size_of(const struct http_head *head)
{
  if (head->has_range)
    return head->range.total;
  return head->content_length;
}

static int
attempt(struct http_transfer *transfer, const struct http_retry *retry,
        const struct http_request *request, struct http_response *ret_response, struct error **err)
{
  if (http_transfer_begin(transfer, retry->client, request, retry->failures > 0, err) < 0)
    return -1;
  long status = http_transfer_head(transfer)->status;
  uint64_t size = size_of(http_transfer_head(transfer));
  bool is_unframed = http_head_is_unframed(http_transfer_head(transfer));
  if (status != 200 && status != 206)
    return http_transfer_refused(transfer, err);
  char byte[2];
  if (status == 206) { /* read to its end, the connection can be used again */
    while (http_transfer_read(transfer, byte, sizeof(byte), NULL) > 0)
      ;
  }
  http_transfer_take_head(transfer, ret_response);
  ret_response->status = 200;
  ret_response->content_length = size;
  ret_response->accepts_ranges = status == 206 && size != UINT64_MAX;
  ret_response->is_unframed = is_unframed;
  return 0;
}

int
http_probe(struct http_client *client, const struct http_request *request,
           struct http_response *ret_response, struct error **err)
{
  struct http_request question = *request;
  question.has_range = true;
  question.range_offset = 0;
  question.range_len = 1;
  question.or_whole = true;
  question.if_encoding = "*";
  struct http_retry retry = {.client = client};
  for (;;) {
    CLEANUP(error_freep) struct error *error = NULL;
    struct http_transfer transfer;
    int r = attempt(&transfer, &retry, &question, ret_response, &error);
    http_transfer_end(&transfer);
    if (r == 0)
      return 0;
    if (!http_retry_again(&retry, &transfer.exchange.failure, &error, err))
      return -1;
  }
}
