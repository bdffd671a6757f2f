/* SPDX-License-Identifier: Apache-2.0 */
/* Whether and when a failed attempt is repeated: after a pause that doubles from failure to
 * failure, with jitter, so that a crowd of clients does not come back at one moment. */
#ifndef LIB_HTTP_HTTP_RETRY_H
#define LIB_HTTP_HTTP_RETRY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/http/http_client.h"

#define HTTP_RETRIES_ANY UINT_MAX

/* What is known of a failed attempt. */
struct http_failure {
  bool is_transient;      /* it may well succeed later … */
  unsigned max_retries;   /* … tried so many times more at most */
  int64_t retry_after_ms; /* … and not before that */
};

struct http_retry {
  struct http_client *client;
  unsigned failures; /* in a row */
  bool is_once;      /* no further attempt, whatever happens */
};

/* Bytes that were gained by an attempt before it broke; enough of them and its failure is the first
 * again. A few do not count: else a server that sends one byte at a time would be asked for ever.
 */
void http_retry_gained(struct http_retry *retry, uint64_t bytes);

/* Whether a failure may be followed by a further attempt. */
bool http_retry_is_left(const struct http_retry *retry);

/* After a failed attempt, with what it failed with: true when it is worth another, after the wait.
 * Otherwise *error is handed over to err, with the number of attempts if there were several. */
bool http_retry_again(struct http_retry *retry, const struct http_failure *failure,
                      struct error **error, struct error **err);

/* The pause after so many failures, in [half, whole] of the exponential: `random` picks. Also for
 * tests. */
int64_t http_retry_pause_ms(unsigned first_ms, unsigned failures, uint32_t random);

#endif
