/* SPDX-License-Identifier: Apache-2.0 */
/* JSON from outside, read strictly: one value and nothing behind it, valid UTF-8, no deeper than it
 * needs to be, no member twice, and every member of the type that it has to have. A member that is
 * null counts as left out, as Go's programs write it. */
#ifndef POPULATOR_REGISTRY_DOCUMENT_H
#define POPULATOR_REGISTRY_DOCUMENT_H

#include <json-c/json_types.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* The owner of a document. */
void document_free(struct json_object *document);
DEFINE_CLEANUP(struct json_object *, document_free)

/* An object at the top; INVALID_ARGUMENT when it is anything else. */
int document_parse(const void *data, size_t len, struct json_object **ret_document,
                   struct error **err);
/* The same with an array at the top. */
int document_parse_array(const void *data, size_t len, struct json_object **ret_document,
                         struct error **err);

/* Members of an object, which owns what they return. NULL, and no error, when it is left out;
 * INVALID_ARGUMENT when it is of another type. No string has a NUL in it. */
int document_string(struct json_object *object, const char *name, const char **ret_value,
                    struct error **err);
int document_array(struct json_object *object, const char *name, struct json_object **ret_value,
                   struct error **err);
int document_object(struct json_object *object, const char *name, struct json_object **ret_value,
                    struct error **err);
/* INVALID_ARGUMENT also when it is left out or negative. */
int document_size(struct json_object *object, const char *name, uint64_t *ret_value,
                  struct error **err);

/* Of an array: how many, and each, which must be of the type. */
size_t document_count(struct json_object *array);
int document_object_at(struct json_object *array, size_t index, struct json_object **ret_value,
                       struct error **err);
int document_string_at(struct json_object *array, size_t index, const char **ret_value,
                       struct error **err);

#endif
