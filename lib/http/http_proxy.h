/* SPDX-License-Identifier: Apache-2.0 */
/* Which proxy a request goes through.
 *
 * curl could read the environment itself, but it does not say before connecting whether an address
 * is the proxy's: the operator chose that one, so it may be on loopback, while a URL's may not. */
#ifndef LIB_HTTP_HTTP_PROXY_H
#define LIB_HTTP_HTTP_PROXY_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/http/http_url.h"

/* NULL: none. `configured` is what the operator gave for all URLs, or NULL for what the environment
 * says: http_proxy, https_proxy or HTTPS_PROXY, all_proxy or ALL_PROXY. Either way no_proxy or
 * NO_PROXY names the hosts that are reached directly. */
const char *http_proxy_for(const struct http_url *url, const char *configured);

/* Whether it can be one at all. INVALID_ARGUMENT without a word of what it says: it may hold a
 * password, which curl would quote. */
int http_proxy_check(const char *proxy, struct error **err);

/* "*", or a list of names (with all below them), addresses and networks "10.0.0.0/8". */
bool http_proxy_is_excepted(const char *host, const char *no_proxy);

#endif
