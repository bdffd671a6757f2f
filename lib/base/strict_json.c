/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/strict_json.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <string.h>

/* How many members the objects of a valid text have: each has one colon, outside of strings. */
static size_t
members_in_text(const char *text, size_t len)
{
  size_t count = 0;
  bool is_string = false;
  for (size_t i = 0; i < len; i++) {
    if (is_string && text[i] == '\\')
      i++;
    else if (text[i] == '"')
      is_string = !is_string;
    else if (!is_string && text[i] == ':')
      count++;
  }
  return count;
}

/* How many of them json-c has kept. It refuses what is nested deep. */
static size_t
members_in_tree(struct json_object *value)
{
  size_t count = 0;
  if (json_object_is_type(value, json_type_array)) {
    for (size_t i = 0; i < json_object_array_length(value); i++)
      count += members_in_tree(json_object_array_get_idx(value, i));
  } else if (json_object_is_type(value, json_type_object)) {
    json_object_object_foreach(value, key, member)
    {
      (void)key;
      count += 1 + members_in_tree(member);
    }
  }
  return count;
}

int
strict_json_check(const char *text, size_t len, struct json_object *root, struct error **err)
{
  if (memchr(text, 0, len))
    return error_set(err, ERROR_INVALID_ARGUMENT, "not valid JSON: it holds a NUL character");
  if (members_in_text(text, len) != members_in_tree(root))
    return error_set(err, ERROR_INVALID_ARGUMENT, "a field is there twice: which one counts?");
  return 0;
}
