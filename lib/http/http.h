/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP requests, on libcurl. A client keeps connections for reuse and may be used by any number of
 * threads at once.
 *
 * Everything that answers is hostile until proven otherwise: addresses are checked after resolving
 * and on each redirect, bodies are bounded, lengths and ranges are compared with what was asked
 * for. */
#ifndef LIB_HTTP_HTTP_H
#define LIB_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/buffer.h"
#include "lib/base/error.h"

/* How to talk to servers; the strings outlive the client. NULL and 0 mean the default. */
struct http_options {
  const char *ca_bundle;      /* PEM file of further CAs to trust */
  const char *proxy;          /* else from http_proxy, https_proxy, no_proxy as curl reads them */
  const char *user;           /* basic authentication … */
  const char *password;       /* … */
  const char *bearer;         /* or a bearer token */
  const char *const *headers; /* further headers "Name: value", ends with NULL */
  bool allow_local_addresses; /* loopback, link-local, metadata and private-only names may be asked
                               */
  unsigned retries;           /* default 8 */
  unsigned retry_first_ms;    /* default 200; doubles up to 10 s, with jitter */
  unsigned stall_s; /* default 30: no byte for so long breaks the transfer, which is retried */
};

/* SigV4 for S3 stores. */
struct s3_options {
  const char *endpoint;   /* "https://s3.example.com"; NULL: AWS for the region */
  const char *region;     /* default us-east-1 */
  const char *access_key; /* NULL: anonymous */
  const char *secret_key;
  const char *session_token; /* or NULL */
  bool path_style; /* https://endpoint/bucket/key in place of https://bucket.endpoint/key */
};

struct http_client;

struct http_client *http_client_new(const struct http_options *options);
void http_client_free(struct http_client *client);
DEFINE_CLEANUP(struct http_client *, http_client_free)

/* What is sent. */
struct http_request {
  const char *method; /* "GET", "HEAD", "PUT", "POST", "DELETE" */
  const char *url;
  const char *const *headers;  /* further ones, ends with NULL; may be NULL */
  const struct s3_options *s3; /* sign for S3, or NULL */
  const char *bearer;          /* in place of the client's credentials, or NULL */
  const void *body;            /* for PUT and POST */
  size_t body_len;
  bool has_range; /* ask for range_len bytes from range_offset on */
  uint64_t range_offset;
  uint64_t range_len;
  const char *if_match; /* the ETag that the answer must have, or NULL */
  uint64_t max_body;    /* a larger body is an error; 0: 16 MiB */
};

/* What came back. */
struct http_response {
  long status;
  struct buffer body;
  char *etag; /* NULL where not given, as below */
  char *last_modified;
  char *content_type;
  char *location; /* of an answer that was not followed (uploads) */
  char *url;      /* after redirects */
  char *www_authenticate;
  char *docker_digest;     /* Docker-Content-Digest */
  uint64_t content_length; /* UINT64_MAX: not said */
  bool accepts_ranges;
  uint64_t range_total; /* of "Content-Range: bytes a-b/total"; UINT64_MAX: not said */
};

/* One request, retried as the client's options say on connection failures, stalls, short bodies,
 * 429 and 5xx (Retry-After is honoured within bounds). Whatever status comes is handed over, except
 * that a range that was asked for and not given as asked (status, Content-Range, length, ETag) is
 * an error: FAILED_PRECONDITION when the file changed (ETag, 412), DATA_LOSS when the server lies.
 */
int http_send(struct http_client *client, const struct http_request *request,
              struct http_response *ret_response, struct error **err);
void http_response_clear(struct http_response *response);
/* An error for a status that is not wanted: 401/403 PERMISSION_DENIED or UNAUTHENTICATED, 404
 * NOT_FOUND, 416 OUT_OF_RANGE, 429/5xx UNAVAILABLE …, with the URL (without credentials or query)
 * and the start of the body where it is text. Returns -1. */
int http_status_error(const struct http_request *request, const struct http_response *response,
                      struct error **err);

/* Reads exactly len bytes of a file from offset into buf: http_send() with a range, without a copy.
 */
int http_read_at(struct http_client *client, const struct http_request *request, void *buf,
                 size_t len, uint64_t offset, struct error **err);

/* A body read as it comes. Broken connections are taken up again where they broke: by a range where
 * the server allows it, else from the start, passing over what was read (the ETag must still be the
 * same). */
struct http_stream;
int http_stream_open(struct http_client *client, const struct http_request *request,
                     uint64_t offset, struct http_stream **ret_stream, struct error **err);
ssize_t http_stream_read(struct http_stream *stream, void *buf, size_t len, struct error **err);
void http_stream_close(struct http_stream *stream);

/* The URL of an object: path style or virtual host, percent-encoded. To be freed. */
char *s3_url(const struct s3_options *options, const char *bucket, const char *key);

#endif
