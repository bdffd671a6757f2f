/* SPDX-License-Identifier: Apache-2.0 */
/* A body read as it comes. Nothing runs between two reads: what the reader does not take stays with
 * the server. One thread at a time. */
#ifndef LIB_HTTP_HTTP_STREAM_H
#define LIB_HTTP_HTTP_STREAM_H

#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/http/http_client.h"
#include "lib/http/http_request.h"

struct http_stream;

/* From offset on, which must be 0 where the server has no ranges (UNIMPLEMENTED). Any status but
 * 200 or 206 is an error. */
int http_stream_open(struct http_client *client, const struct http_request *request,
                     uint64_t offset, struct http_stream **ret_stream, struct error **err);
/* The size of the whole file; UINT64_MAX when the server does not say. */
uint64_t http_stream_total(const struct http_stream *stream);
/* Whether the server has shown that it can send the file from any offset on. */
bool http_stream_can_resume(const struct http_stream *stream);

/* Whether its end cannot be told from a connection that was cut off: only if the request has
 * or_unframed, else that is FAILED_PRECONDITION. */
bool http_stream_is_unframed(const struct http_stream *stream);

/* Up to len bytes, 0 at the end, -1 on error.
 * Broken connections are taken up again where they broke: by a range where the server allows it,
 * else from the start, passing over what was read, which must be the same bytes. A file that
 * changed in between is FAILED_PRECONDITION; an end that comes too early is never taken for the
 * end. */
ssize_t http_stream_read(struct http_stream *stream, void *buf, size_t len, struct error **err);
void http_stream_close(struct http_stream *stream);
DEFINE_CLEANUP(struct http_stream *, http_stream_close)

#endif
