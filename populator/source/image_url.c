/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/image_url.h"

#include <string.h>
#include <strings.h>

#include "lib/base/memory.h"

void
image_url_clear(struct image_url *url)
{
  free(url->pool);
  free(url->name_space);
  free(url->name);
  free(url->snapshot);
  *url = (struct image_url){0};
}

bool
image_url_is(const char *url)
{
  return strncasecmp(url, IMAGE_URL_SCHEME, strlen(IMAGE_URL_SCHEME)) == 0;
}

int
image_url_parse(const char *url, struct image_url *ret_url, struct error **err)
{
  const char *text = url + strlen(IMAGE_URL_SCHEME);
  const char *at = strchr(text, '@');
  CLEANUP(freep) char *spec = at ? xstrndup(text, (size_t)(at - text)) : xstrdup(text);
  char *first = strchr(spec, '/');
  char *last = strrchr(spec, '/');
  bool is_sound = first && first != spec && last[1] && (!at || (at[1] && !strpbrk(at + 1, "/@")));
  if (is_sound && first != last)
    is_sound = last != first + 1 && memchr(first + 1, '/', (size_t)(last - first - 1)) == NULL;
  if (!is_sound)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%.200s' is not like rbd:pool/image@snapshot or rbd:pool/namespace/image",
                     url);
  *ret_url = (struct image_url){
      .pool = xstrndup(spec, (size_t)(first - spec)),
      .name_space = first == last ? xstrdup("") : xstrndup(first + 1, (size_t)(last - first - 1)),
      .name = xstrdup(last + 1),
      .snapshot = at ? xstrdup(at + 1) : NULL,
  };
  return 0;
}
