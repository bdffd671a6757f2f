/* SPDX-License-Identifier: Apache-2.0 */
/* A request as options of a curl handle: method, headers, credentials, TLS, proxy. What curl may do
 * by itself is little: redirects, retries and decoding are ours, because it would send headers to
 * whom they do not concern, and hide what came. */
#ifndef LIB_HTTP_HTTP_SETUP_H
#define LIB_HTTP_HTTP_SETUP_H

#include <curl/curl.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/http/http_client_parts.h"
#include "lib/http/http_request.h"
#include "lib/http/http_url.h"

/* One question to one server, of the several that redirects may make of a request. */
struct http_hop {
  struct http_client *client;
  const struct http_request *request;
  const struct http_url *url; /* asked now */
  const char *user;           /* from the request's own URL, or NULL */
  const char *password;
  const char *proxy; /* or NULL */
  bool is_trusted;   /* the server the request was meant for: credentials may be sent */
};

/* No line break in what becomes a header: it would be a further header. */
int http_setup_check(const struct http_client *client, const struct http_request *request,
                     struct error **err);

/* All but the callbacks. The list of headers must live as long as the transfer and be freed with
 * curl_slist_free_all(). */
void http_setup(CURL *easy, const struct http_hop *hop, struct curl_slist **ret_headers);

/* "GET" when the request does not say. */
const char *http_setup_method(const struct http_request *request);

#endif
