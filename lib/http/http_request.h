/* SPDX-License-Identifier: Apache-2.0 */
/* What is sent. */
#ifndef LIB_HTTP_HTTP_REQUEST_H
#define LIB_HTTP_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/http/s3.h"

struct http_pushed;

struct http_request {
  const char *method; /* NULL: "GET". Redirects of GET and HEAD are followed, no others */
  const char *url;
  const char *const *headers;  /* further ones, ends with NULL, also for redirects; may be NULL */
  const struct s3_options *s3; /* sign for S3, or NULL */
  const char *bearer;          /* in place of the client's credentials, or NULL */
  const void *body;            /* for PUT, POST and PATCH */
  size_t body_len;
  struct http_pushed *pushed; /* in place of a body: see http_put.h */
  bool has_range;             /* ask for range_len bytes from range_offset on */
  uint64_t range_offset;
  uint64_t range_len; /* 0: to the end */
  bool or_whole;      /* the whole file (200) will do where there are no ranges, or no bytes */
  /* For streams: a body that ends where its connection does will do, though it cannot be told from
   * one that was cut off: whoever reads it has another proof. */
  bool or_unframed;
  /* The version of the file that the answer must be of, as an earlier answer told it; each may be
   * NULL or 0. A strong ETag settles it; with a weak one, or none, the other two must be the same.
   */
  const char *if_match;            /* ETag */
  const char *if_unmodified_since; /* Last-Modified */
  uint64_t if_total;               /* the size of the whole file */
  /* The Content-Encoding that a part of it may have: that of an earlier answer, "*" for any, NULL
   * for none. Ranges are of the file as it is stored then, encoded. */
  const char *if_encoding;
  uint64_t max_body; /* a larger body is an error; 0: 16 MiB */
  bool is_once;      /* one attempt: it must not be done twice (a part of an upload) */
  /* One attempt, since the caller begins again himself: it may be done twice, when a connection
   * that was used before turns out to be closed. */
  bool is_retried_by_caller;
  /* It may be done twice, but not without being told (http_response.is_repeated): curl repeats by
   * itself what went down a connection that was closed meanwhile. */
  bool is_counted;
  unsigned stall_s; /* in place of the client's; 0: the client's */
  bool may_idle;    /* no least rate is asked for: news come when there are some */
};

/* A copy that nothing is borrowed for but `s3` and `body`, and its end. */
void http_request_copy(struct http_request *ret_copy, const struct http_request *request);
void http_request_copy_clear(struct http_request *copy);

/* The name of the request for messages: its URL without user, password and query. To be freed. */
char *http_request_label(const struct http_request *request);

#endif
