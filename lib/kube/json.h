/* SPDX-License-Identifier: Apache-2.0 */
/* Short ways through JSON: members by path, values of the type that is wanted or nothing. */
#ifndef LIB_KUBE_JSON_H
#define LIB_KUBE_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

DEFINE_CLEANUP(struct json_object *, json_object_put)

/* One value and nothing behind it. */
int json_parse(const char *text, size_t len, struct json_object **ret_value, struct error **err);

/* Ways are the names of members, outermost first: `json_at(pvc, "spec", "resources")`. What is not
 * there, or of another type, is NULL, 0 or false. The object keeps what they return. */
#define json_at(object, ...) json_find((object), (const char *const[]){__VA_ARGS__, NULL})
#define json_text(object, ...) json_find_text((object), (const char *const[]){__VA_ARGS__, NULL})
#define json_number(object, ...)                                                                   \
  json_find_number((object), (const char *const[]){__VA_ARGS__, NULL})
#define json_flag(object, ...) json_find_flag((object), (const char *const[]){__VA_ARGS__, NULL})

struct json_object *json_find(struct json_object *object, const char *const *way);
const char *json_find_text(struct json_object *object, const char *const *way);
int64_t json_find_number(struct json_object *object, const char *const *way);
bool json_find_flag(struct json_object *object, const char *const *way);

/* Elements of an array; 0 and NULL when it is none. */
size_t json_count(struct json_object *array);
struct json_object *json_item(struct json_object *array, size_t index);

/* A value under a way, with objects made where there are none. Takes the value. */
#define json_put_at(object, value, ...)                                                            \
  json_place((object), (const char *const[]){__VA_ARGS__, NULL}, (value))
#define json_put_text(object, text, ...)                                                           \
  json_place((object), (const char *const[]){__VA_ARGS__, NULL}, json_object_new_string(text))
void json_place(struct json_object *object, const char *const *way, struct json_object *value);

/* A copy that shares nothing. */
struct json_object *json_copy(struct json_object *value);
/* Whether every member of `wanted` is in `present` with the same value, all the way down: then a
 * merge patch of it would change nothing. NULL in `wanted` wants the member away. */
bool json_covers(struct json_object *present, struct json_object *wanted);
/* A merge patch that sets all of `after`, whatever is there, and takes away what was in `before`
 * and is not in `after`; other members stay as they are. Both may be NULL. To be put. */
struct json_object *json_patch_between(struct json_object *before, struct json_object *after);

#endif
