/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/file_url.h"

#include <string.h>
#include <strings.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/http_url.h"

#define THIS_HOST "//localhost"

bool
file_url_is(const char *text)
{
  return strncasecmp(text, FILE_URL_SCHEME, strlen(FILE_URL_SCHEME)) == 0;
}

/* Behind the scheme and the host; NULL where that is another one. */
static const char *
encoded_path(const char *text)
{
  const char *rest = text + strlen(FILE_URL_SCHEME);
  if (text_starts_with(rest, THIS_HOST "/"))
    return rest + strlen(THIS_HOST);
  if (text_starts_with(rest, "///"))
    return rest + 2;
  return text_starts_with(rest, "//") ? NULL : rest;
}

int
file_url_path(const char *text, char **ret_path, struct error **err)
{
  if (!file_url_is(text)) {
    *ret_path = xstrdup(text);
    return 0;
  }
  const char *encoded = encoded_path(text);
  if (!encoded || !*encoded)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%s': a file is named file:///PATH; one of another host cannot be reached",
                     text);
  char *path = http_url_decode(encoded);
  if (!path)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s': a '%%' must be written as %%25", text);
  *ret_path = path;
  return 0;
}
