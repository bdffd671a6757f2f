/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt at one request: asks, follows redirects, and checks that the answer is what was asked
 * for. Belongs to lib/http; retries are its users' matter. */
#ifndef LIB_HTTP_HTTP_TRANSFER_H
#define LIB_HTTP_HTTP_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/http/http_exchange.h"
#include "lib/http/http_request.h"
#include "lib/http/http_response.h"
#include "lib/http/http_url.h"

struct http_transfer {
  const struct http_request *request;
  struct http_exchange exchange;
  struct http_url url; /* asked now; the final one once the transfer has begun */
  char *user;          /* what the request's URL said of credentials */
  char *password;
  unsigned redirects;
  bool is_retry;
  bool is_trusted;       /* still at the server the request was meant for */
  bool is_direct;        /* asked where the file was found before, without the redirects */
  bool is_whole;         /* the range turned out not to be there: asked without it */
  bool is_range_ignored; /* it failed because the server sends the whole file for a part */
};

/* Returns when the head of the final answer is there: whatever status, but checked when it promises
 * the file. A further attempt (is_retry) does not use a connection that is open already: what made
 * the last one fail may be the connection. The request must outlive the transfer. Whatever it
 * returns, http_transfer_end() is due. */
int http_transfer_begin(struct http_transfer *transfer, struct http_client *client,
                        const struct http_request *request, bool is_retry, struct error **err);
/* The same for a request whose body is pushed: returns when the server wants it, or its answer is
 * there, which is a refusal. Never uses a connection that is open already: curl would send the
 * beginning again if that turned out to be closed. */
int http_transfer_offer(struct http_transfer *transfer, struct http_client *client,
                        const struct http_request *request, struct error **err);
/* Up to len bytes of the body; 0 when it is complete. */
ssize_t http_transfer_read(struct http_transfer *transfer, void *buf, size_t len,
                           struct error **err);
/* Whether and when it is worth another attempt is known also after it. */
void http_transfer_end(struct http_transfer *transfer);

/* Of the final answer. */
const struct http_head *http_transfer_head(const struct http_transfer *transfer);
/* What the head says, without a body; only http_transfer_end() is left to do after it. */
void http_transfer_take_head(struct http_transfer *transfer, struct http_response *ret_response);

/* Fails with the status, and the beginning of the body. Returns -1. */
int http_transfer_refused(struct http_transfer *transfer, struct error **err);

#endif
