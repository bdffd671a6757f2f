/* SPDX-License-Identifier: Apache-2.0 */
/* A small map of strings, kept sorted by key: image metadata, StorageClass parameters.
 * One thread at a time. */
#ifndef LIB_BASE_STRING_MAP_H
#define LIB_BASE_STRING_MAP_H

#include <stddef.h>

#include "lib/base/cleanup.h"

struct string_map_entry {
  char *key;
  char *value;
};

struct string_map {
  struct string_map_entry *entries;
  size_t count;
};

/* Copies both; replaces the value of a key that is there. */
void string_map_set(struct string_map *map, const char *key, const char *value);
/* NULL when the key is not there. The map owns the result. */
const char *string_map_get(const struct string_map *map, const char *key);
void string_map_remove(struct string_map *map, const char *key);
/* Frees what it holds; the map itself may be used again. */
void string_map_clear(struct string_map *map);

#endif
