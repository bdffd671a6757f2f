/* SPDX-License-Identifier: Apache-2.0 */
/* SigV4 by curl, and what curl 7.88 leaves to its user: the hash of the body in a header of its
 * own, and a query that is sorted and encoded already (which the callers' URLs are). */
#ifndef LIB_HTTP_S3_SIGN_H
#define LIB_HTTP_S3_SIGN_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/http/s3.h"

/* Whether a request can be signed with these. */
int s3_sign_check(const struct s3_options *options, struct error **err);

/* The value of x-amz-content-sha256. Over TLS, which guards it, a large body is not hashed. To be
 * freed. */
char *s3_sign_body(const void *body, size_t len, bool is_tls);

/* Does nothing without a key: the request is anonymous. */
void s3_sign(CURL *easy, const struct s3_options *options);

#endif
