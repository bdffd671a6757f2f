/* SPDX-License-Identifier: Apache-2.0 */
/* What curl and servers answer, as an error that a person can act on. */
#ifndef LIB_HTTP_HTTP_ERROR_H
#define LIB_HTTP_HTTP_ERROR_H

#include <curl/curl.h>
#include <stdbool.h>

#include "lib/base/buffer.h"
#include "lib/base/error.h"

/* Whether the same request may well succeed a little later. */
bool http_error_is_transient(CURLcode code);
bool http_status_is_transient(long status);
/* Of those, whether it hardly will, so that a person should not be kept waiting: a name that does
 * not resolve is most often misspelt, and what does not speak HTTP seldom learns it. (It may be the
 * rest of an earlier answer, longer than it said; another connection will do then.) */
bool http_error_is_hopeless(CURLcode code);

/* `detail` is what curl left in its error buffer, perhaps nothing. Returns -1. */
int http_error_set(struct error **err, CURLcode code, const char *detail, const char *label);

/* A proxy that refused to make a connection. Returns -1. */
int http_proxy_error_set(struct error **err, long status, const char *label);

/* `body` may be NULL; its beginning is quoted where it is text. Returns -1. */
int http_status_error_set(struct error **err, long status, const char *label,
                          const struct buffer *body);

#endif
