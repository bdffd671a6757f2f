/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an answer: status and the fields that matter, collected line by line.
 *
 * What is malformed, or said twice with two values, does not fail here but is remembered as a
 * fault: whoever needs the body must not believe it, while a refusal is a refusal however it is
 * worded. */
#ifndef LIB_HTTP_HTTP_HEAD_H
#define LIB_HTTP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/http/http_header.h"

/* All lines together; no sensible server comes near it. */
#define HTTP_HEAD_MAX_BYTES ((size_t)64 << 10)

struct http_head {
  long status;
  bool is_complete;  /* its last line was seen */
  const char *fault; /* why it must not be believed, or NULL */
  size_t bytes;
  char *etag; /* NULL where not given, as below */
  char *last_modified;
  char *content_type;
  char *content_encoding; /* not "identity" */
  char *location;
  char *www_authenticate; /* several are joined by commas */
  char *docker_digest;
  char *upload_range;
  char *retry_after;
  uint64_t content_length; /* UINT64_MAX: not said */
  bool accepts_ranges;
  bool is_chunked;
  bool has_range;
  struct http_content_range range;
};

void http_head_init(struct http_head *head);
void http_head_clear(struct http_head *head);

/* Whether the body has no end but that of its connection. */
bool http_head_is_unframed(const struct http_head *head);

/* A line as it came, with or without its line end. A status line begins anew, as behind an interim
 * answer (1xx); an empty line completes the head, unless it was such a one. What follows (trailers)
 * is ignored. */
void http_head_line(struct http_head *head, const char *line, size_t len);

#endif
