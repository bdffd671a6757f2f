/* SPDX-License-Identifier: Apache-2.0 */
/* Objects in S3 stores: where they are. Requests are signed (SigV4) by http_send() and its like,
 * which take the options along. */
#ifndef LIB_HTTP_S3_H
#define LIB_HTTP_S3_H

#include <stdbool.h>

#include "lib/base/error.h"

/* NULL means the default; the strings outlive whoever is given them. */
struct s3_options {
  const char *endpoint;   /* "https://s3.example.com"; NULL: AWS for the region */
  const char *region;     /* default us-east-1 */
  const char *access_key; /* NULL: anonymous */
  const char *secret_key;
  const char *session_token; /* or NULL */
  bool path_style; /* https://endpoint/bucket/key in place of https://bucket.endpoint/key */
  bool host_style; /* the other way round, at an endpoint that is not Amazon's */
};

#define S3_DEFAULT_REGION "us-east-1"

/* s3://BUCKET/KEY: *ret_bucket is to be freed, *ret_key points into the text. The key is taken as
 * it stands: stores allow any character in it, so nothing in it is an escape. */
int s3_name_parse(const char *text, char **ret_bucket, const char **ret_key, struct error **err);

/* The URL of an object, percent-encoded; of the bucket itself when key is NULL. Only Amazon's
 * endpoints have the bucket in the host by themselves: other stores know it in the path, while a
 * name for each bucket has to be set up. Path style also where the bucket cannot be part of a host
 * name: the endpoint is an address, or the name has characters (dots: no certificate would match)
 * that do not fit. To be freed. */
char *s3_url(const struct s3_options *options, const char *bucket, const char *key);

#endif
