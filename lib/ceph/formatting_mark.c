/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/formatting_mark.h"

#include <string.h>

#define KEY "imprint.formatting"

void
formatting_mark_write(const char *image_id, struct string_map *metadata)
{
  string_map_set(metadata, KEY, image_id);
}

bool
formatting_mark_is_there(const struct string_map *metadata, const char *image_id)
{
  const char *id = string_map_get(metadata, KEY);
  return id && strcmp(id, image_id) == 0;
}

void
formatting_mark_list(struct string_map *ret_keys)
{
  string_map_set(ret_keys, KEY, "");
}
