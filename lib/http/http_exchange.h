/* SPDX-License-Identifier: Apache-2.0 */
/* One question to one server, and its answer: the head, then the body for whoever pulls. curl is
 * run here and nowhere else, and only while someone waits for it.
 *
 * The body goes from curl's buffer straight into the reader's. curl cannot be told to hand over
 * just what fits, so what does not is kept here, one piece of curl's at most, and curl is paused.
 */
#ifndef LIB_HTTP_HTTP_EXCHANGE_H
#define LIB_HTTP_HTTP_EXCHANGE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/http/http_head.h"
#include "lib/http/http_pool.h"
#include "lib/http/http_pushed.h"
#include "lib/http/http_retry.h"
#include "lib/http/http_setup.h"
#include "lib/http/http_stall.h"

/* "[fd00::1%eth0]:443", and the end of the text. */
#define HTTP_ADDRESS_MAX 80

struct http_exchange {
  struct http_client *client;
  struct http_handle *handle; /* NULL: not started yet */
  struct curl_slist *headers;
  char *label;                    /* of the URL, for messages */
  const char *refusal;            /* why an address was not connected to, or NULL */
  char address[HTTP_ADDRESS_MAX]; /* that was connected to last, with its port */
  char detail[CURL_ERROR_SIZE];
  struct http_stall stall;
  CURLcode result;
  bool is_done; /* curl has no more to do; result tells how it ended */
  bool is_proxied;
  bool follows; /* redirects are followed: their bodies are passed over */
  bool is_stalled;
  bool is_paused;
  bool is_too_long; /* the body is more than was expected */
  struct http_failure failure;
  struct http_pushed *pushed; /* what is pushed, or NULL */

  struct http_head head;
  uint64_t received; /* bytes of body so far */
  uint64_t expected; /* all of them; UINT64_MAX: it is not known */
  char *out;         /* where the reader wants them */
  size_t out_room;
  size_t out_len;
  char *rest; /* what did not fit there */
  size_t rest_at;
  size_t rest_len;
};

void http_exchange_init(struct http_exchange *exchange, struct http_client *client);
/* Ends what is under way; the connection is used again when the answer was read to its end. */
void http_exchange_clear(struct http_exchange *exchange);

/* Ends the exchange before, if there was one, and asks. */
int http_exchange_start(struct http_exchange *exchange, const struct http_hop *hop,
                        struct error **err);
/* Until the head is there; in case of a redirect, to the end of the answer. */
int http_exchange_wait(struct http_exchange *exchange, struct error **err);
bool http_exchange_is_redirect(const struct http_exchange *exchange);
/* Until the server wants the body that is to be pushed, or has answered: in case of a redirect, to
 * the end of the answer. */
int http_exchange_offer(struct http_exchange *exchange, struct error **err);
/* Until curl has taken all of it; what it took need not be sent yet. Less when an answer came
 * before. */
int http_exchange_push(struct http_exchange *exchange, const void *data, size_t len,
                       struct error **err);
/* How long the body must be, as the head tells it. DATA_LOSS when more has come already. */
int http_exchange_expect(struct http_exchange *exchange, uint64_t bytes, struct error **err);
/* Up to len bytes of the body; 0 when it is complete. */
ssize_t http_exchange_read(struct http_exchange *exchange, void *buf, size_t len,
                           struct error **err);

#endif
