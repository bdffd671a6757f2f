/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of one kind by namespace and name. One thread at a time. */
#ifndef LIB_KUBE_OBJECT_TABLE_H
#define LIB_KUBE_OBJECT_TABLE_H

#include <stddef.h>

#include "lib/kube/kube_object.h"

struct object_table {
  void *root; /* of tsearch(3) */
  size_t count;
};

/* Takes the reference; gives back the one that it replaces, or NULL. */
struct kube_object *object_table_put(struct object_table *table, struct kube_object *object);
/* Gives it back, or NULL. */
struct kube_object *object_table_remove(struct object_table *table, const char *ns,
                                        const char *name);
/* The table keeps it. */
struct kube_object *object_table_find(const struct object_table *table, const char *ns,
                                      const char *name);
/* All of them, sorted; the array is to be freed, the table keeps the objects. */
struct kube_object **object_table_all(const struct object_table *table);
void object_table_clear(struct object_table *table);

#endif
