/* SPDX-License-Identifier: Apache-2.0 */
/* An answer that goes on as long as the server has news: read as it comes, never taken up again.
 * One thread at a time. */
#ifndef LIB_HTTP_HTTP_FEED_H
#define LIB_HTTP_HTTP_FEED_H

#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/http/http_client.h"
#include "lib/http/http_request.h"
#include "lib/http/http_response.h"

struct http_feed;

/* One attempt. Any status is handed over; behind one other than 200 the beginning of its body is in
 * ret_response and there is no feed: *ret_feed is NULL. The request must outlive the feed; it
 * should say may_idle. */
int http_feed_open(struct http_client *client, const struct http_request *request,
                   struct http_feed **ret_feed, struct http_response *ret_response,
                   struct error **err);
/* Up to len bytes, at least one; 0 at the end, -1 on error. */
ssize_t http_feed_read(struct http_feed *feed, void *buf, size_t len, struct error **err);
void http_feed_close(struct http_feed *feed);
DEFINE_CLEANUP(struct http_feed *, http_feed_close)

#endif
