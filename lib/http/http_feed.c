/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_feed.h"

#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/http/http_transfer.h"

#define REFUSAL_KEPT_BYTES ((size_t)16 << 10)

struct http_feed {
  struct http_transfer transfer;
};

/* Why it was refused, as far as the server says it. */
static void
read_refusal(struct http_feed *feed, struct http_response *ret_response)
{
  struct buffer body = {.limit = REFUSAL_KEPT_BYTES};
  char chunk[4096];
  ssize_t got;
  while ((got = http_transfer_read(&feed->transfer, chunk, sizeof(chunk), NULL)) > 0 &&
         buffer_append(&body, chunk, (size_t)got))
    ;
  http_transfer_take_head(&feed->transfer, ret_response);
  ret_response->body = body;
}

int
http_feed_open(struct http_client *client, const struct http_request *request,
               struct http_feed **ret_feed, struct http_response *ret_response, struct error **err)
{
  CLEANUP(http_feed_closep) struct http_feed *feed = xcalloc(1, sizeof(*feed));
  *ret_feed = NULL;
  *ret_response = (struct http_response){0};
  if (http_transfer_begin(&feed->transfer, client, request, false, err) < 0)
    return -1;
  ret_response->status = http_transfer_head(&feed->transfer)->status;
  if (ret_response->status == 200)
    *ret_feed = TAKE(feed);
  else
    read_refusal(feed, ret_response);
  return 0;
}

ssize_t
http_feed_read(struct http_feed *feed, void *buf, size_t len, struct error **err)
{
  return http_transfer_read(&feed->transfer, buf, len, err);
}

void
http_feed_close(struct http_feed *feed)
{
  if (!feed)
    return;
  http_transfer_end(&feed->transfer);
  free(feed);
}
