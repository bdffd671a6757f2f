/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to know of a file before it is read. */
#ifndef LIB_HTTP_HTTP_PROBE_H
#define LIB_HTTP_HTTP_PROBE_H

#include "lib/http/http_client.h"
#include "lib/http/http_response.h"

/* Asks for the first byte. The answer has status 200 and no body; content_length is the size of the
 * file, UINT64_MAX when it is not said; accepts_ranges is proven. Any refusal is an error.
 * Not by HEAD: a URL that was signed for GET, and many a server, refuses that. */
int http_probe(struct http_client *client, const struct http_request *request,
               struct http_response *ret_response, struct error **err);

#endif
