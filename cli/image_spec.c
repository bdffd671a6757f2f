/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/image_spec.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define VOLUME_PREFIX "volume:"
#define SNAPSHOT_PREFIX "snapshot:"

void
image_spec_clear(struct image_spec *spec)
{
  free(spec->volume);
  free(spec->snapshot_handle);
  free(spec->pool);
  free(spec->name_space);
  free(spec->image);
  free(spec->snapshot);
  *spec = (struct image_spec){0};
}

static int
bad(const char *text, struct image_spec *spec, struct error **err)
{
  image_spec_clear(spec);
  return error_set(
      err, ERROR_INVALID_ARGUMENT,
      "'%.128s': POOL/IMAGE, POOL/NAMESPACE/IMAGE or one of them with @SNAPSHOT is needed", text);
}

int
image_spec_parse(const char *text, struct image_spec *ret_spec, struct error **err)
{
  struct image_spec spec = {0};
  if (text_starts_with(text, VOLUME_PREFIX)) {
    *ret_spec = (struct image_spec){.volume = xstrdup(text + strlen(VOLUME_PREFIX))};
    return 0;
  }
  const char *at = strchr(text, '@');
  if (text_starts_with(text, SNAPSHOT_PREFIX)) {
    const char *handle = text + strlen(SNAPSHOT_PREFIX);
    spec.volume = xstrndup(handle, at ? (size_t)(at - handle) : strlen(handle));
    spec.snapshot_handle = xstrdup(handle);
    *ret_spec = spec;
    return 0;
  }
  size_t path_len = at ? (size_t)(at - text) : strlen(text);
  const char *first = memchr(text, '/', path_len);
  if (!first)
    return bad(text, &spec, err);
  const char *second = memchr(first + 1, '/', path_len - (size_t)(first + 1 - text));
  const char *image = second ? second + 1 : first + 1;
  spec.pool = xstrndup(text, (size_t)(first - text));
  spec.name_space = second ? xstrndup(first + 1, (size_t)(second - first - 1)) : xstrdup("");
  spec.image = xstrndup(image, path_len - (size_t)(image - text));
  spec.snapshot = at ? xstrdup(at + 1) : NULL;
  if (!*spec.pool || !*spec.image || strchr(spec.image, '/') || (second && !*spec.name_space) ||
      (spec.snapshot && (!*spec.snapshot || strpbrk(spec.snapshot, "@/"))))
    return bad(text, &spec, err);
  *ret_spec = spec;
  return 0;
}
