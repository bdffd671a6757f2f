/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt at one request: follows redirects, reads the head, checks it against what was asked
 * for, then gives the body to whoever pulls. Belongs to lib/http; retries are its users' matter.
 *
 * The body goes from curl's buffer straight into the reader's. curl cannot be told to hand over
 * just what fits, so what does not is kept here, one piece of curl's at most, and curl is paused.
 */
#ifndef LIB_HTTP_HTTP_TRANSFER_H
#define LIB_HTTP_HTTP_TRANSFER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/http/http_head.h"
#include "lib/http/http_pool.h"
#include "lib/http/http_request.h"
#include "lib/http/http_response.h"
#include "lib/http/http_stall.h"
#include "lib/http/http_url.h"

struct http_transfer {
  struct http_client *client;
  const struct http_request *request;
  struct http_url url; /* asked now; the final one once the transfer has begun */
  char *user;          /* what the request's URL said of credentials */
  char *password;
  bool is_trusted; /* still at the server the request was meant for */
  unsigned redirects;

  struct http_handle *handle;
  struct curl_slist *headers;
  char detail[CURL_ERROR_SIZE];
  bool is_proxied;
  const char *refusal; /* why an address was not connected to, or NULL */
  bool is_done;        /* curl has no more to do; result tells how it ended */
  CURLcode result;
  struct http_stall stall;

  struct http_head head;
  uint64_t expected; /* bytes of body; UINT64_MAX: it is not known */
  uint64_t received;
  char *out; /* where the reader wants the body */
  size_t out_room;
  size_t out_len;
  char *rest; /* what did not fit there */
  size_t rest_at;
  size_t rest_len;
  bool is_paused;

  /* After a failure: */
  bool is_transient;      /* the same request may well succeed later … */
  unsigned max_retries;   /* … tried so many times at most */
  int64_t retry_after_ms; /* … and not before that */
};

/* Returns when the head of the final answer is there: whatever status, but checked when it promises
 * the file. The request must outlive the transfer. http_transfer_end() is due even when it fails.
 */
int http_transfer_begin(struct http_transfer *transfer, struct http_client *client,
                        const struct http_request *request, struct error **err);
/* Up to len bytes of the body; 0 when it is complete. */
ssize_t http_transfer_read(struct http_transfer *transfer, void *buf, size_t len,
                           struct error **err);
void http_transfer_end(struct http_transfer *transfer);

/* What the head says, without a body; only http_transfer_end() is left to do after it. */
void http_transfer_take_head(struct http_transfer *transfer, struct http_response *ret_response);

/* Fails with the status, and the beginning of the body. Returns -1. */
int http_transfer_refused(struct http_transfer *transfer, struct error **err);

#endif
