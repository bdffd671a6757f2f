/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_request.h"

#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/http/http_url.h"

static const char *const *
headers_copy(const char *const *headers)
{
  size_t count = 0;
  while (headers && headers[count])
    count++;
  const char **copy = xcalloc(count + 1, sizeof(char *));
  for (size_t i = 0; i < count; i++)
    copy[i] = xstrdup(headers[i]);
  return copy;
}

void
http_request_copy(struct http_request *ret_copy, const struct http_request *request)
{
  *ret_copy = *request;
  ret_copy->method = xstrdup(request->method);
  ret_copy->url = xstrdup(request->url);
  ret_copy->headers = headers_copy(request->headers);
  ret_copy->bearer = xstrdup(request->bearer);
  ret_copy->if_match = xstrdup(request->if_match);
  ret_copy->if_unmodified_since = xstrdup(request->if_unmodified_since);
  ret_copy->if_encoding = xstrdup(request->if_encoding);
}

void
http_request_copy_clear(struct http_request *copy)
{
  for (size_t i = 0; copy->headers && copy->headers[i]; i++)
    free((char *)copy->headers[i]);
  free((void *)copy->headers);
  free((char *)copy->method);
  free((char *)copy->url);
  free((char *)copy->bearer);
  free((char *)copy->if_match);
  free((char *)copy->if_unmodified_since);
  free((char *)copy->if_encoding);
  *copy = (struct http_request){0};
}

char *
http_request_label(const struct http_request *request)
{
  struct http_url url = {0};
  if (http_url_parse(request->url, &url, NULL) < 0)
    return xstrdup("a malformed URL");
  char *label = TAKE(url.label);
  http_url_clear(&url);
  return label;
}
