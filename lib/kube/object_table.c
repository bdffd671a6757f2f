/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/object_table.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

static int
compare(const void *a, const void *b)
{
  const struct kube_object *x = a;
  const struct kube_object *y = b;
  int by_namespace = strcmp(x->ns, y->ns);
  return by_namespace ? by_namespace : strcmp(x->name, y->name);
}

struct kube_object *
object_table_put(struct object_table *table, struct kube_object *object)
{
  struct kube_object *before = object_table_remove(table, object->ns, object->name);
  if (!tsearch(object, &table->root, compare))
    abort(); /* out of memory */
  table->count++;
  return before;
}

struct kube_object *
object_table_find(const struct object_table *table, const char *ns, const char *name)
{
  const struct kube_object wanted = {.ns = ns, .name = name};
  struct kube_object **found = tfind(&wanted, &table->root, compare);
  return found ? *found : NULL;
}

struct kube_object *
object_table_remove(struct object_table *table, const char *ns, const char *name)
{
  struct kube_object *found = object_table_find(table, ns, name);
  if (!found)
    return NULL;
  (void)tdelete(found, &table->root, compare);
  table->count--;
  return found;
}

struct collected {
  struct kube_object **items;
  size_t count;
};

static void
collect(const void *node, VISIT visit, void *arg)
{
  struct collected *all = arg;
  if (visit == postorder || visit == leaf)
    all->items[all->count++] = *(struct kube_object *const *)node;
}

struct kube_object **
object_table_all(const struct object_table *table)
{
  struct collected all = {.items = xcalloc(table->count + 1, sizeof(struct kube_object *))};
  twalk_r(table->root, collect, &all);
  return all.items;
}

static void
release(void *object)
{
  kube_object_release(object);
}

void
object_table_clear(struct object_table *table)
{
  tdestroy(table->root, release);
  *table = (struct object_table){0};
}
