/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a file of any size to a server while it is being made: nothing is kept of it, so what breaks
 * half-way cannot be repeated here. */
#ifndef LIB_HTTP_HTTP_PUT_H
#define LIB_HTTP_HTTP_PUT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/http/http_client.h"
#include "lib/http/http_response.h"

struct http_put;

/* Asks the server to take `size` bytes (Expect: 100-continue), before any is sent: connection
 * failures, 429 and 5xx are retried as the client's options say, and 307 and 308 are followed as
 * far as redirects of a GET are. A refusal is an error. Of the request: url, headers, bearer,
 * stall_s; it must outlive the put. */
int http_put_open(struct http_client *client, const struct http_request *request, uint64_t size,
                  struct http_put **ret_put, struct error **err);
/* The next bytes; together they are exactly `size`. An answer that comes before the end is an
 * error, that it says. */
int http_put_write(struct http_put *put, const void *data, size_t len, struct error **err);
/* All is written: waits for the answer. Any status but 2xx is an error. */
int http_put_finish(struct http_put *put, struct http_response *ret_response, struct error **err);
/* Breaks the connection if it was not finished: the server has less than it was promised. */
void http_put_free(struct http_put *put);
DEFINE_CLEANUP(struct http_put *, http_put_free)

#endif
