/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/id_list.h"

#include <stdlib.h>

#include "lib/base/memory.h"

void
id_list_add(struct id_list *list, char *name, char *id)
{
  list->entries = xrealloc(list->entries, list->count + 1, sizeof(list->entries[0]));
  list->entries[list->count++] = (struct id_entry){.name = name, .id = id};
}

void
id_list_shorten(struct id_list *list, size_t count)
{
  while (list->count > count) {
    struct id_entry *last = &list->entries[--list->count];
    free(last->name);
    free(last->id);
  }
}

void
id_list_clear(struct id_list *list)
{
  id_list_shorten(list, 0);
  free(list->entries);
  *list = (struct id_list){0};
}
