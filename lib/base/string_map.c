/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/string_map.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/memory.h"

/* The index of key, or where it would be inserted. */
static size_t
find(const struct string_map *map, const char *key, bool *ret_found)
{
  size_t low = 0;
  size_t high = map->count;
  *ret_found = false;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(map->entries[middle].key, key);
    if (order == 0) {
      *ret_found = true;
      return middle;
    }
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void
string_map_set(struct string_map *map, const char *key, const char *value)
{
  bool found;
  size_t at = find(map, key, &found);
  if (found) {
    char *copy = xstrdup(value);
    free(map->entries[at].value);
    map->entries[at].value = copy;
    return;
  }
  map->entries = xrealloc(map->entries, map->count + 1, sizeof(map->entries[0]));
  memmove(&map->entries[at + 1], &map->entries[at], (map->count - at) * sizeof(map->entries[0]));
  map->entries[at] = (struct string_map_entry){.key = xstrdup(key), .value = xstrdup(value)};
  map->count++;
}

const char *
string_map_get(const struct string_map *map, const char *key)
{
  bool found;
  size_t at = find(map, key, &found);
  return found ? map->entries[at].value : NULL;
}

void
string_map_remove(struct string_map *map, const char *key)
{
  bool found;
  size_t at = find(map, key, &found);
  if (!found)
    return;
  free(map->entries[at].key);
  free(map->entries[at].value);
  map->count--;
  memmove(&map->entries[at], &map->entries[at + 1], (map->count - at) * sizeof(map->entries[0]));
}

void
string_map_clear(struct string_map *map)
{
  for (size_t i = 0; i < map->count; i++) {
    free(map->entries[i].key);
    free(map->entries[i].value);
  }
  free(map->entries);
  *map = (struct string_map){0};
}
