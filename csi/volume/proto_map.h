/* SPDX-License-Identifier: Apache-2.0 */
/* map<string, string> of protobuf: protobuf-c makes an entry type of its own for each, all of the
 * same form, so these are macros. */
#ifndef CSI_VOLUME_PROTO_MAP_H
#define CSI_VOLUME_PROTO_MAP_H

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/string_map.h"

/* Adds the entries of a request's map to `map`. */
#define PROTO_MAP_READ(map, entry_list, entry_count)                                               \
  do {                                                                                             \
    for (size_t i_ = 0; i_ < (entry_count); i_++)                                                  \
      string_map_set((map), (entry_list)[i_]->key, (entry_list)[i_]->value);                       \
  } while (0)

/* Puts `map` into a response's map field; `init` is the entry type's initialiser. */
#define PROTO_MAP_WRITE(map, entry_list, entry_count, type, init)                                  \
  do {                                                                                             \
    (entry_count) = (map)->count;                                                                  \
    (entry_list) = (map)->count ? xcalloc((map)->count, sizeof(type *)) : NULL;                    \
    for (size_t i_ = 0; i_ < (map)->count; i_++) {                                                 \
      (entry_list)[i_] = xcalloc(1, sizeof(type));                                                 \
      *(entry_list)[i_] = (type)init;                                                              \
      (entry_list)[i_]->key = xstrdup((map)->entries[i_].key);                                     \
      (entry_list)[i_]->value = xstrdup((map)->entries[i_].value);                                 \
    }                                                                                              \
  } while (0)

/* A map field of a request that borrows the strings of `map`. In scope, the message
 * can be sent. */
#define PROTO_MAP_BORROW(message, field, map, type, init)                                          \
  CLEANUP(freep) type *field##_entries = xcalloc((map)->count + 1, sizeof(type));                  \
  CLEANUP(freep) type **field##_list = xcalloc((map)->count + 1, sizeof(type *));                  \
  for (size_t i_ = 0; i_ < (map)->count; i_++) {                                                   \
    field##_entries[i_] = (type)init;                                                              \
    field##_entries[i_].key = (map)->entries[i_].key;                                              \
    field##_entries[i_].value = (map)->entries[i_].value;                                          \
    field##_list[i_] = &field##_entries[i_];                                                       \
  }                                                                                                \
  (message)->n_##field = (map)->count;                                                             \
  (message)->field = field##_list

#endif
