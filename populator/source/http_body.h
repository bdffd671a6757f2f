/* SPDX-License-Identifier: Apache-2.0 */
/* The body of an answer as a stream. It can be saved where the server has proven that it can go on
 * in the middle. */
#ifndef POPULATOR_SOURCE_HTTP_BODY_H
#define POPULATOR_SOURCE_HTTP_BODY_H

#include "lib/http/http.h"
#include "populator/source/stream.h"

/* As http_stream_open(). */
int http_body_open(struct http_client *client, const struct http_request *request, uint64_t offset,
                   struct stream **ret_stream, bool *ret_is_unframed, struct error **err);

#endif
