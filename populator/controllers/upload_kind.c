/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/upload_kind.h"

#include <string.h>

static const struct upload_kind *const kinds[] = {&image_upload, &data_volume_upload};

const struct upload_kind *
upload_kind_find(const char *collection)
{
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    if (strcmp(kinds[i]->collection, collection) == 0)
      return kinds[i];
  }
  return NULL;
}
