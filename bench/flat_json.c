/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/flat_json.h"

#include <json-c/json.h>

DEFINE_CLEANUP(struct json_object *, json_object_put)

int
flat_json_read(const char *path, struct string_map *map, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *object = json_object_from_file(path);
  if (!json_object_is_type(object, json_type_object))
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s: a JSON object of strings is needed", path);
  json_object_object_foreach(object, key, value)
  {
    if (!json_object_is_type(value, json_type_string))
      return error_set(err, ERROR_INVALID_ARGUMENT, "%s: '%s' is not a string", path, key);
    string_map_set(map, key, json_object_get_string(value));
  }
  return 0;
}
