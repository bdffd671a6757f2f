/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/device_use.h"

#include <string.h>

#include "lib/base/memory.h"
#include "nodeplugin/loop_device.h"
#include "nodeplugin/mount_table.h"

/* Where the device is a disk, by its own node or by that of its read-only view; NULL when nowhere.
 */
static const struct mount_entry *
find_disk(const struct mount_table *table, const struct mapping *mapping)
{
  const struct mount_entry *found = mount_table_of_node(table, mapping->device, NULL);
  CLEANUP(freep) char *view = found ? NULL : loop_device_find(mapping->device);
  return view ? mount_table_of_node(table, view, NULL) : found;
}

int
device_use_check_none(const struct mapping *mapping, const char *except, struct error **err)
{
  struct mount_table table;
  if (mount_table_read(&table, err) < 0)
    return -1;
  const struct mount_entry *use = mount_table_of_device(&table, mapping->number, except);
  if (!use)
    use = find_disk(&table, mapping);
  int r = use ? error_set(err, ERROR_FAILED_PRECONDITION, "'%s' is still in use at '%s'",
                          mapping->device, use->mount_point)
              : 0;
  mount_table_clear(&table);
  return r;
}

int
device_use_check_not_mounted(const struct mapping *mapping, struct error **err)
{
  struct mount_table table;
  if (mount_table_read(&table, err) < 0)
    return -1;
  const struct mount_entry *mounted = mount_table_of_device(&table, mapping->number, NULL);
  int r = mounted ? error_set(err, ERROR_FAILED_PRECONDITION,
                              "its filesystem is mounted at '%s': it cannot be a disk as well",
                              mounted->mount_point)
                  : 0;
  mount_table_clear(&table);
  return r;
}

int
device_use_check_no_disk(const struct mapping *mapping, struct error **err)
{
  struct mount_table table;
  if (mount_table_read(&table, err) < 0)
    return -1;
  const struct mount_entry *node = find_disk(&table, mapping);
  int r = node ? error_set(err, ERROR_FAILED_PRECONDITION,
                           "it is published as a disk at '%s': its filesystem cannot be mounted as "
                           "well",
                           node->mount_point)
               : 0;
  mount_table_clear(&table);
  return r;
}

/* A path beside the two where a device's node is, or its filesystem; NULL when there is none. */
static const char *
find_beside(const struct mount_table *table, dev_t number, const char *device, const char *target,
            const char *staging)
{
  const struct mount_entry *node = mount_table_of_node(table, device, NULL);
  for (size_t i = 0; i < table->count; i++) {
    const struct mount_entry *entry = &table->entries[i];
    bool is_node = entry == node;
    if (is_node)
      node = mount_table_of_node(table, device, node);
    if ((is_node || entry->device == number) && strcmp(entry->mount_point, target) != 0 &&
        strcmp(entry->mount_point, staging) != 0)
      return entry->mount_point;
  }
  return NULL;
}

int
device_use_check_single(const struct mapping *mapping, const char *target, const char *staging,
                        struct error **err)
{
  struct mount_table table;
  if (mount_table_read(&table, err) < 0)
    return -1;
  CLEANUP(freep) char *view = loop_device_find(mapping->device);
  const char *other = find_beside(&table, mapping->number, mapping->device, target, staging);
  if (!other && view)
    other = find_beside(&table, mapping->number, view, target, staging);
  int r = other
              ? error_set(err, ERROR_FAILED_PRECONDITION,
                          "it is published at '%s', and its access mode allows one pod only", other)
              : 0;
  mount_table_clear(&table);
  return r;
}
