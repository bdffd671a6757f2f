/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_read.h"

#include <assert.h>

#include "lib/http/http_retry.h"
#include "lib/http/http_transfer.h"

/* One attempt at what is still missing; *got counts also when it fails. */
static int
attempt(struct http_transfer *transfer, struct http_client *client,
        const struct http_request *request, char *buf, size_t *got, struct error **err)
{
  if (http_transfer_begin(transfer, client, request, err) < 0)
    return -1;
  if (transfer->head.status != 206)
    return http_transfer_refused(transfer, err);
  uint64_t left = request->range_len;
  while (left > 0) {
    ssize_t n = http_transfer_read(transfer, buf + *got, left, err);
    if (n <= 0)
      return -1; /* the end cannot come before: the transfer knows what to expect */
    *got += (size_t)n;
    left -= (uint64_t)n;
  }
  /* to the end of the answer, which leaves the connection fit for the next */
  char none[1];
  return (int)http_transfer_read(transfer, none, sizeof(none), err);
}

int
http_read_at(struct http_client *client, const struct http_request *request, void *buf, size_t len,
             uint64_t offset, struct error **err)
{
  assert(len > 0);
  struct http_retry retry = {.client = client};
  size_t got = 0;
  for (;;) {
    CLEANUP(error_freep) struct error *failure = NULL;
    struct http_request piece = *request;
    piece.has_range = true;
    piece.range_offset = offset + got;
    piece.range_len = len - got;
    size_t before = got;
    struct http_transfer transfer;
    int r = attempt(&transfer, client, &piece, buf, &got, &failure);
    http_transfer_end(&transfer);
    if (r == 0 || got == len)
      return 0;
    http_retry_gained(&retry, got - before);
    if (!http_retry_again(&retry, &transfer, &failure, err))
      return -1;
  }
}
