/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/image_path.h"

#include <stddef.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"

static bool
is_part(const char *part, size_t len, const char *text)
{
  return strlen(text) == len && memcmp(part, text, len) == 0;
}

char *
image_path_clean(const char *text)
{
  char *clean = xcalloc(strlen(text) + 1, 1);
  size_t used = 0;
  while (*text) {
    size_t len = strcspn(text, "/");
    if (is_part(text, len, "..")) {
      while (used > 0 && clean[--used] != '/')
        ;
    } else if (len > 0 && !is_part(text, len, ".")) {
      if (used > 0)
        clean[used++] = '/';
      memcpy(clean + used, text, len);
      used += len;
    }
    text += len + (text[len] == '/');
  }
  clean[used] = '\0';
  return clean;
}

char *
image_path_follow(const char *link, const char *target)
{
  if (*target == '/')
    return image_path_clean(target);
  CLEANUP(freep) char *joined = xasprintf("%s/../%s", link, target);
  return image_path_clean(joined);
}

bool
image_path_is_within(const char *path, const char *folder)
{
  size_t len = strlen(folder);
  return len == 0 || (strncmp(path, folder, len) == 0 && (path[len] == '/' || !path[len]));
}

const char *
image_path_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}
