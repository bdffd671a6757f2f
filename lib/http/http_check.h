/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an answer is what was asked for: the right piece of the right version of the file. A
 * server, or a cache in between, that sends something else must not go unnoticed: it would be a
 * corrupt image. */
#ifndef LIB_HTTP_HTTP_CHECK_H
#define LIB_HTTP_HTTP_CHECK_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/http/http_head.h"
#include "lib/http/http_request.h"

/* For heads with a status from 200 to 299, and 416. `label` is for messages. */
int http_check_head(const struct http_request *request, const struct http_head *head,
                    const char *label, struct error **err);
/* Whether it is the right version of the file, but the whole of it where a part was asked for. A
 * server that has given parts before may do so again: what is asked may be one of several behind a
 * balancer, and not all of them alike. */
bool http_check_ignores_range(const struct http_request *request, const struct http_head *head);

#endif
