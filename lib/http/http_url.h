/* SPDX-License-Identifier: Apache-2.0 */
/* URLs taken apart once, so that no secret of theirs reaches a message and none goes to a server
 * that it was not meant for. */
#ifndef LIB_HTTP_HTTP_URL_H
#define LIB_HTTP_HTTP_URL_H

#include <stdbool.h>

#include "lib/base/error.h"

struct http_url {
  char *text;  /* what is asked for: without user, password and fragment */
  char *label; /* for messages: without the query too, which may hold a signature */
  char *host;  /* "example.com", "192.0.2.1", "2001:db8::1" */
  char *port;
  char *user; /* as the URL named them, or NULL */
  char *password;
  bool is_tls;
};

/* INVALID_ARGUMENT when it is not an http or https URL. */
int http_url_parse(const char *text, struct http_url *ret_url, struct error **err);
/* Where a redirect from `base` leads; a user and password in it are dropped. */
int http_url_resolve(const struct http_url *base, const char *location, struct http_url *ret_url,
                     struct error **err);
void http_url_clear(struct http_url *url);

/* Whether what was meant for the server of `from` may be sent to the one of `to`: the same host and
 * port, and the same scheme, or https on its usual port for http on its own. */
bool http_url_same_server(const struct http_url *from, const struct http_url *to);

/* Everything but letters, digits and "-._~" becomes %XX; '/' too unless it is kept. To be freed. */
char *http_url_encode(const char *text, bool keeps_slash);
/* NULL when a '%' is not followed by two hexadecimal digits, or stands for a NUL. To be freed. */
char *http_url_decode(const char *text);

#endif
