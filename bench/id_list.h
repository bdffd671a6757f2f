/* SPDX-License-Identifier: Apache-2.0 */
/* Names and ids of things that were made, in that order. One thread at a time. */
#ifndef BENCH_ID_LIST_H
#define BENCH_ID_LIST_H

#include <stddef.h>

struct id_entry {
  char *name;
  char *id;
};

struct id_list {
  struct id_entry *entries;
  size_t count;
};

/* Takes both. */
void id_list_add(struct id_list *list, char *name, char *id);
/* Drops the last ones. */
void id_list_shorten(struct id_list *list, size_t count);
void id_list_clear(struct id_list *list);

#endif
