/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a file. */
#ifndef LIB_HTTP_HTTP_READ_H
#define LIB_HTTP_HTTP_READ_H

#include "lib/base/error.h"
#include "lib/http/http_client.h"
#include "lib/http/http_request.h"

/* Reads exactly len bytes of a file from offset into buf: http_send() with a range, without a copy;
 * an attempt that breaks is taken up where it broke. Any status but 206 is an error. */
int http_read_at(struct http_client *client, const struct http_request *request, void *buf,
                 size_t len, uint64_t offset, struct error **err);

#endif
