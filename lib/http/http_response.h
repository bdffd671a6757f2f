/* SPDX-License-Identifier: Apache-2.0 */
/* What came back. */
#ifndef LIB_HTTP_HTTP_RESPONSE_H
#define LIB_HTTP_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buffer.h"
#include "lib/base/error.h"
#include "lib/http/http_request.h"

struct http_response {
  long status;
  struct buffer body;
  char *etag; /* NULL where not given, as below */
  char *last_modified;
  char *content_type;
  char *content_encoding;  /* of the body, and of ranges: as it is stored, or was made to be sent */
  char *location;          /* of an answer that was not followed (uploads) */
  char *url;               /* after redirects; may hold secrets in its query */
  char *www_authenticate;  /* for http_challenge_find() */
  char *docker_digest;     /* Docker-Content-Digest */
  char *upload_range;      /* Range, "0-1023": what a registry has of an upload */
  uint64_t content_length; /* UINT64_MAX: not said */
  bool accepts_ranges;
  bool is_unframed;     /* its body, which was not read, has no end but that of its connection */
  bool is_repeated;     /* another attempt failed before: the server may have done it then */
  uint64_t range_total; /* of "Content-Range: bytes a-b/total"; UINT64_MAX: not said */
};

void http_response_clear(struct http_response *response);

/* An error for a status that is not wanted: 401/403 UNAUTHENTICATED or PERMISSION_DENIED, 404
 * NOT_FOUND, 412 FAILED_PRECONDITION, 416 OUT_OF_RANGE, 429/5xx UNAVAILABLE …, with the URL
 * (without credentials or query) and the start of the body where it is text. Returns -1. */
int http_status_error(const struct http_request *request, const struct http_response *response,
                      struct error **err);

#endif
