/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/s3.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/http/http_url.h"

#define SCHEME "s3://"

int
s3_name_parse(const char *text, char **ret_bucket, const char **ret_key, struct error **err)
{
  const char *bucket = strncasecmp(text, SCHEME, strlen(SCHEME)) == 0 ? text + strlen(SCHEME) : "";
  size_t len = strcspn(bucket, "/");
  if (len == 0 || bucket[len] != '/' || !bucket[len + 1])
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s': an object is named s3://BUCKET/KEY", text);
  *ret_bucket = xstrndup(bucket, len);
  *ret_key = bucket + len + 1;
  return 0;
}

/* One label of a host name. */
static bool
is_label(const char *bucket)
{
  size_t len = strspn(bucket, "abcdefghijklmnopqrstuvwxyz0123456789-");
  return len > 0 && len <= 63 && !bucket[len] && bucket[0] != '-' && bucket[len - 1] != '-';
}

static bool
ends_with(const char *host, const char *domain)
{
  size_t len = strlen(host), domain_len = strlen(domain);
  return len > domain_len && strcasecmp(host + len - domain_len, domain) == 0;
}

/* Whether the host of the endpoint may have a bucket in front of it. */
static bool
takes_bucket(const char *endpoint, bool host_style)
{
  struct http_url url = {0};
  if (http_url_parse(endpoint, &url, NULL) < 0)
    return false;
  unsigned char address[16];
  bool is_address =
      inet_pton(AF_INET, url.host, address) == 1 || inet_pton(AF_INET6, url.host, address) == 1;
  bool is_amazon =
      ends_with(url.host, ".amazonaws.com") || ends_with(url.host, ".amazonaws.com.cn");
  http_url_clear(&url);
  return !is_address && (host_style || is_amazon);
}

char *
s3_url(const struct s3_options *options, const char *bucket, const char *key)
{
  const char *region = options->region ? options->region : S3_DEFAULT_REGION;
  CLEANUP(freep)
  char *endpoint = options->endpoint ? xstrdup(options->endpoint)
                                     : xasprintf("https://s3.%s.amazonaws.com", region);
  size_t len = strlen(endpoint);
  while (len > 0 && endpoint[len - 1] == '/')
    endpoint[--len] = '\0';
  CLEANUP(freep) char *path = http_url_encode(key ? key : "", true);
  const char *behind_scheme = strstr(endpoint, "://");
  if (options->path_style || !is_label(bucket) || !behind_scheme ||
      !takes_bucket(endpoint, options->host_style)) {
    CLEANUP(freep) char *name = http_url_encode(bucket, false);
    return xasprintf("%s/%s%s%s", endpoint, name, key ? "/" : "", path);
  }
  behind_scheme += 3;
  return xasprintf("%.*s%s.%s/%s", (int)(behind_scheme - endpoint), endpoint, bucket, behind_scheme,
                   path);
}
