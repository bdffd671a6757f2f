/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/registry/document.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>

#include "lib/base/strict_json.h"

/* An index with its annotations needs 6. */
#define DEPTH_MAX 16

DEFINE_CLEANUP(struct json_tokener *, json_tokener_free)

void
document_free(struct json_object *document)
{
  (void)json_object_put(document);
}

static const char *
type_name(enum json_type type)
{
  return type == json_type_object ? "an object" : type == json_type_array ? "an array" : "a string";
}

static int
parse(const void *data, size_t len, enum json_type type, struct json_object **ret_document,
      struct error **err)
{
  if (len == 0 || len > INT_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "not JSON: %zu bytes long", len);
  CLEANUP(json_tokener_freep) struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
  if (!tokener)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory to read JSON");
  json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
  CLEANUP(document_freep)
  struct json_object *document = json_tokener_parse_ex(tokener, data, (int)len);
  if (!document)
    return error_set(err, ERROR_INVALID_ARGUMENT, "not valid JSON near byte %zu: %s",
                     json_tokener_get_parse_end(tokener),
                     json_tokener_error_desc(json_tokener_get_error(tokener)));
  if (strict_json_check(data, len, document, err) < 0)
    return -1;
  if (!json_object_is_type(document, type))
    return error_set(err, ERROR_INVALID_ARGUMENT, "not %s", type_name(type));
  *ret_document = TAKE(document);
  return 0;
}

int
document_parse(const void *data, size_t len, struct json_object **ret_document, struct error **err)
{
  return parse(data, len, json_type_object, ret_document, err);
}

int
document_parse_array(const void *data, size_t len, struct json_object **ret_document,
                     struct error **err)
{
  return parse(data, len, json_type_array, ret_document, err);
}

/* ---- members -----------------------------------------------------------------------------------
 */

static int
check_type(struct json_object *value, enum json_type type, const char *name, struct error **err)
{
  if (!json_object_is_type(value, type))
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is not %s", name, type_name(type));
  if (type == json_type_string &&
      strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value))
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' holds a NUL", name);
  return 0;
}

static int
member(struct json_object *object, const char *name, enum json_type type,
       struct json_object **ret_value, struct error **err)
{
  struct json_object *value = NULL;
  (void)json_object_object_get_ex(object, name, &value);
  if (value && check_type(value, type, name, err) < 0)
    return -1;
  *ret_value = value;
  return 0;
}

int
document_string(struct json_object *object, const char *name, const char **ret_value,
                struct error **err)
{
  struct json_object *value;
  if (member(object, name, json_type_string, &value, err) < 0)
    return -1;
  *ret_value = value ? json_object_get_string(value) : NULL;
  return 0;
}

int
document_array(struct json_object *object, const char *name, struct json_object **ret_value,
               struct error **err)
{
  return member(object, name, json_type_array, ret_value, err);
}

int
document_object(struct json_object *object, const char *name, struct json_object **ret_value,
                struct error **err)
{
  return member(object, name, json_type_object, ret_value, err);
}

int
document_size(struct json_object *object, const char *name, uint64_t *ret_value, struct error **err)
{
  struct json_object *value = NULL;
  (void)json_object_object_get_ex(object, name, &value);
  /* json-c makes numbers that do not fit INT64_MAX */
  if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0 ||
      json_object_get_int64(value) == INT64_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is not the size of anything", name);
  *ret_value = (uint64_t)json_object_get_int64(value);
  return 0;
}

size_t
document_count(struct json_object *array)
{
  return array ? json_object_array_length(array) : 0;
}

static int
item(struct json_object *array, size_t index, enum json_type type, struct json_object **ret_value,
     struct error **err)
{
  struct json_object *value = json_object_array_get_idx(array, index);
  if (check_type(value, type, "an item of a list", err) < 0)
    return -1;
  *ret_value = value;
  return 0;
}

int
document_object_at(struct json_object *array, size_t index, struct json_object **ret_value,
                   struct error **err)
{
  return item(array, index, json_type_object, ret_value, err);
}

int
document_string_at(struct json_object *array, size_t index, const char **ret_value,
                   struct error **err)
{
  struct json_object *value;
  if (item(array, index, json_type_string, &value, err) < 0)
    return -1;
  *ret_value = json_object_get_string(value);
  return 0;
}
