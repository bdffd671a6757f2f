/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/sink/archive_name.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/registry/oci_image.h"

int
archive_name_parse(const char *url, char **ret_path, const char **ret_name, struct error **err)
{
  const char *text = url + strlen(ARCHIVE_NAME_SCHEME);
  size_t len = strcspn(text, ":");
  const char *name = text[len] == ':' ? text + len + 1 : NULL;
  if (len == 0 || strncmp(text, "-", len) == 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%.128s': " ARCHIVE_NAME_SCHEME "PATH[:NAME] is needed, with the path of a "
                     "file: what stands in front of a layer is known last",
                     url);
  if (name && oci_image_check_name(name, err) < 0)
    return error_wrap(err, "'%.128s'", url);
  *ret_path = xstrndup(text, len);
  *ret_name = name;
  return 0;
}
