/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/s3_sign.h"

#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"

/* What hashing costs less than it is worth for. */
#define HASHED_MAX_BYTES ((size_t)64 << 10)
/* Longer parts of a scope are cut off by curl. */
#define REGION_MAX 64

int
s3_sign_check(const struct s3_options *options, struct error **err)
{
  if (options->access_key && !options->secret_key)
    return error_set(err, ERROR_INVALID_ARGUMENT, "an S3 access key without its secret key");
  if (options->region && (!*options->region || strlen(options->region) > REGION_MAX ||
                          strpbrk(options->region, ": \t\r\n")))
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is not an S3 region", options->region);
  const char *secrets[] = {options->access_key, options->secret_key, options->session_token};
  for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
    if (secrets[i] && strpbrk(secrets[i], "\r\n"))
      return error_set(err, ERROR_INVALID_ARGUMENT, "an S3 key has a line break in it");
  }
  return 0;
}

char *
s3_sign_body(const void *body, size_t len, bool is_tls)
{
  if (is_tls && len > HASHED_MAX_BYTES)
    return xstrdup("UNSIGNED-PAYLOAD");
  char *hex = xcalloc(DIGEST_SHA256_HEX, 1);
  digest_sha256_hex(body ? body : "", len, hex);
  return hex;
}

void
s3_sign(CURL *easy, const struct s3_options *options)
{
  /* A key may hold "a/../b", which curl would make "b" of. */
  (void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  if (!options->access_key)
    return;
  CLEANUP(freep)
  char *scope = xasprintf("aws:amz:%s:s3", options->region ? options->region : S3_DEFAULT_REGION);
  (void)curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, scope);
  (void)curl_easy_setopt(easy, CURLOPT_USERNAME, options->access_key);
  (void)curl_easy_setopt(easy, CURLOPT_PASSWORD, options->secret_key);
}
