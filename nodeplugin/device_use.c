/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/device_use.h"

#include <string.h>

#include "nodeplugin/mount_table.h"

int
device_use_check_none(const struct mapping *mapping, const char *except, struct error **err)
{
  struct mount_table table;
  if (mount_table_read(&table, err) < 0)
    return -1;
  const struct mount_entry *use = mount_table_of_device(&table, mapping->number, except);
  if (!use)
    use = mount_table_of_node(&table, mapping->device, NULL);
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
  const struct mount_entry *node = mount_table_of_node(&table, mapping->device, NULL);
  int r = node ? error_set(err, ERROR_FAILED_PRECONDITION,
                           "it is published as a disk at '%s': its filesystem cannot be mounted as "
                           "well",
                           node->mount_point)
               : 0;
  mount_table_clear(&table);
  return r;
}

int
device_use_check_single(const struct mapping *mapping, const char *target, const char *staging,
                        struct error **err)
{
  struct mount_table table;
  if (mount_table_read(&table, err) < 0)
    return -1;
  const struct mount_entry *node = mount_table_of_node(&table, mapping->device, NULL);
  const char *other = NULL;
  for (size_t i = 0; i < table.count && !other; i++) {
    const struct mount_entry *entry = &table.entries[i];
    bool is_node = entry == node;
    if (is_node)
      node = mount_table_of_node(&table, mapping->device, node);
    if ((is_node || entry->device == mapping->number) && strcmp(entry->mount_point, target) != 0 &&
        strcmp(entry->mount_point, staging) != 0)
      other = entry->mount_point;
  }
  int r = other
              ? error_set(err, ERROR_FAILED_PRECONDITION,
                          "it is published at '%s', and its access mode allows one pod only", other)
              : 0;
  mount_table_clear(&table);
  return r;
}
