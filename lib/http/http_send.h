/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its answer. */
#ifndef LIB_HTTP_HTTP_SEND_H
#define LIB_HTTP_HTTP_SEND_H

#include "lib/http/http_client.h"
#include "lib/http/http_response.h"

/* Retried as the client's options say on connection failures, stalls, short bodies, 429 and 5xx
 * (Retry-After is honoured within bounds), so what it does must bear being done twice, or say
 * is_once. Whatever status comes is handed over, except that a range or version that was asked for
 * and not given (status, Content-Range, length, ETag) is an error: FAILED_PRECONDITION when the
 * file changed, UNIMPLEMENTED when the server has no ranges, DATA_LOSS when it lies. Of the body of
 * a refusal only the beginning is kept. */
int http_send(struct http_client *client, const struct http_request *request,
              struct http_response *ret_response, struct error **err);

#endif
