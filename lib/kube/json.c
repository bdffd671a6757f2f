/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/json.h"

#include <limits.h>
#include <string.h>

/* Deeper than any object of Kubernetes, shallow enough for a thread's stack. */
#define DEPTH_MAX 64

DEFINE_CLEANUP(struct json_tokener *, json_tokener_free)

int
json_parse(const char *text, size_t len, struct json_object **ret_value, struct error **err)
{
  CLEANUP(json_tokener_freep) struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
  if (!tokener || len > INT_MAX)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "JSON of %zu bytes is too much", len);
  struct json_object *value = json_tokener_parse_ex(tokener, text, (int)len);
  enum json_tokener_error failure = json_tokener_get_error(tokener);
  size_t end = json_tokener_get_parse_end(tokener);
  while (failure == json_tokener_success && end < len && strchr(" \t\r\n", text[end]) && text[end])
    end++;
  if (failure == json_tokener_success && end == len) {
    *ret_value = value;
    return 0;
  }
  json_object_put(value);
  return error_set(err, ERROR_INVALID_ARGUMENT, "not JSON from byte %zu on: %s", end,
                   failure == json_tokener_success    ? "something stands behind the value"
                   : failure == json_tokener_continue ? "it ends too early"
                                                      : json_tokener_error_desc(failure));
}

struct json_object *
json_find(struct json_object *object, const char *const *way)
{
  for (; *way && object; way++) {
    struct json_object *member = NULL;
    if (!json_object_is_type(object, json_type_object) ||
        !json_object_object_get_ex(object, *way, &member))
      return NULL;
    object = member;
  }
  return object;
}

const char *
json_find_text(struct json_object *object, const char *const *way)
{
  struct json_object *value = json_find(object, way);
  return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

int64_t
json_find_number(struct json_object *object, const char *const *way)
{
  struct json_object *value = json_find(object, way);
  return json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : 0;
}

bool
json_find_flag(struct json_object *object, const char *const *way)
{
  struct json_object *value = json_find(object, way);
  return json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
}

size_t
json_count(struct json_object *array)
{
  return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

struct json_object *
json_item(struct json_object *array, size_t index)
{
  return index < json_count(array) ? json_object_array_get_idx(array, index) : NULL;
}

void
json_place(struct json_object *object, const char *const *way, struct json_object *value)
{
  for (; way[1]; way++) {
    struct json_object *member = NULL;
    if (!json_object_object_get_ex(object, *way, &member) ||
        !json_object_is_type(member, json_type_object)) {
      member = json_object_new_object();
      json_object_object_add(object, *way, member);
    }
    object = member;
  }
  json_object_object_add(object, *way, value);
}

struct json_object *
json_copy(struct json_object *value)
{
  struct json_object *copy = NULL;
  if (value && json_object_deep_copy(value, &copy, NULL) < 0)
    abort(); /* out of memory */
  return copy;
}

bool
json_covers(struct json_object *present, struct json_object *wanted)
{
  if (!json_object_is_type(wanted, json_type_object))
    return json_object_equal(present, wanted);
  if (!json_object_is_type(present, json_type_object))
    return false;
  json_object_object_foreach(wanted, name, value)
  {
    struct json_object *member = NULL;
    bool is_there = json_object_object_get_ex(present, name, &member) && member;
    if (value ? !is_there || !json_covers(member, value) : is_there)
      return false;
  }
  return true;
}

struct json_object *
json_patch_between(struct json_object *before, struct json_object *after)
{
  if (!json_object_is_type(before, json_type_object) ||
      !json_object_is_type(after, json_type_object))
    return json_copy(after);
  struct json_object *patch = json_object_new_object();
  json_object_object_foreach(after, name, value)
  {
    struct json_object *old = NULL;
    (void)json_object_object_get_ex(before, name, &old);
    json_object_object_add(patch, name, json_patch_between(old, value));
  }
  json_object_object_foreach(before, former, ignored)
  {
    (void)ignored;
    if (!json_object_object_get_ex(after, former, NULL))
      json_object_object_add(patch, former, NULL);
  }
  return patch;
}
