/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/mount_owner.h"

#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "nodeplugin/loop_device.h"
#include "nodeplugin/mapper_table.h"
#include "nodeplugin/mount_table.h"
#include "nodeplugin/sysfs.h"

/* "rbd0": the block device that a mount shows, as a filesystem or as a node; "" when it is gone, or
 * when a filesystem has none. To be freed. */
static char *
device_name(const struct mount_entry *entry)
{
  dev_t number;
  bool is_node = mount_entry_is_node(entry, &number);
  if (is_node && !number)
    return xstrdup(entry->root + (*entry->root == '/'));
  if (!is_node)
    number = entry->device;
  CLEANUP(freep) char *link = xasprintf("/sys/dev/block/%u:%u", major(number), minor(number));
  char path[PATH_MAX];
  ssize_t len = readlink(link, path, sizeof(path) - 1);
  path[len > 0 ? len : 0] = '\0';
  const char *slash = strrchr(path, '/');
  return xstrdup(slash ? slash + 1 : "");
}

static bool
is_kind_of_ours(const char *name)
{
  return text_starts_with(name, "rbd") || text_starts_with(name, "nbd") ||
         text_starts_with(name, "loop");
}

/* Whether the kernel tells what is behind a device: then a volume that has it would have been
 * found. nbd devices tell nothing on kernels before 5.14. */
static bool
is_told(const char *name)
{
  CLEANUP(freep) char *folder = xasprintf("/sys/block/%s", name);
  CLEANUP(freep) char *nbd = sysfs_read(folder, "backend");
  CLEANUP(freep) char *loop = sysfs_read(folder, "loop/backing_file");
  return nbd || loop ||
         (access(folder, F_OK) == 0 && !text_starts_with(name, "nbd") &&
          !text_starts_with(name, "loop"));
}

static bool
is_of_mapping(const struct mount_entry *entry, const struct mapping *mapping)
{
  if (entry->device == mapping->number)
    return true;
  dev_t number;
  CLEANUP(freep) char *name = device_name(entry);
  CLEANUP(freep) char *view = loop_device_find(mapping->device);
  return mount_entry_is_node(entry, &number) &&
         (strcmp(name, strrchr(mapping->device, '/') + 1) == 0 ||
          (view && strcmp(name, strrchr(view, '/') + 1) == 0));
}

/* mapping: NULL when the volume has no device. */
static bool
may_be_of(const struct mount_entry *entry, const struct volume_id *id,
          const struct mapping *mapping)
{
  if (mapping)
    return is_of_mapping(entry, mapping);
  CLEANUP(freep) char *name = device_name(entry);
  if (!*name) /* a filesystem without a device, or one whose device is gone */
    return major(entry->device) != 0;
  return is_kind_of_ours(name) && (!id || !is_told(name));
}

int
mount_owner_check(const struct node *node, const struct volume_id *id,
                  const struct target_path *target, struct error **err)
{
  struct mapping mapping = {0};
  struct mount_table table;
  if (mount_table_read(&table, err) < 0)
    return -1;
  bool is_mapped =
      mount_table_at(&table, target->real) && id && mapper_find(&node->env, id, &mapping);
  int r = 0;
  for (size_t i = 0; i < table.count && r == 0; i++) {
    const struct mount_entry *entry = &table.entries[i];
    if (strcmp(entry->mount_point, target->real) == 0 &&
        !may_be_of(entry, id, is_mapped ? &mapping : NULL))
      r = error_set(err, ERROR_FAILED_PRECONDITION,
                    "'%s' is mounted at '%s', which is not this volume", entry->source,
                    target->real);
  }
  mapping_clear(&mapping);
  mount_table_clear(&table);
  return r;
}
