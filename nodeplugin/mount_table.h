/* SPDX-License-Identifier: Apache-2.0 */
/* What is mounted where, as /proc/self/mountinfo tells it: the only record that the node plugin
 * trusts. A snapshot, owned by its reader. */
#ifndef NODEPLUGIN_MOUNT_TABLE_H
#define NODEPLUGIN_MOUNT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/types.h>

#include "lib/base/error.h"

#define MOUNT_TABLE_ATTRIBUTES (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

struct mount_entry {
  dev_t device;            /* of the filesystem: for ext4 and xfs that of its block device */
  char *root;              /* what of the filesystem is mounted */
  char *mount_point;       /* … */
  bool is_read_only;       /* this mount; the filesystem may be writable elsewhere */
  uint64_t attributes;     /* of this mount: those of MOUNT_TABLE_ATTRIBUTES */
  char *type;              /* "ext4" */
  char *source;            /* "/dev/rbd0" */
  bool is_super_read_only; /* the filesystem itself: an error makes it so */
};

struct mount_table {
  struct mount_entry *entries; /* in the order in which they were mounted */
  size_t count;
};

int mount_table_read(struct mount_table *ret_table, struct error **err);
/* The text of a mountinfo file. INTERNAL when a line is not one. */
int mount_table_parse(const char *text, struct mount_table *ret_table, struct error **err);
void mount_table_clear(struct mount_table *table);

/* What is mounted on a path, the topmost; NULL when nothing is. The table owns it. */
const struct mount_entry *mount_table_at(const struct mount_table *table, const char *path);
/* The first mount of a filesystem on this block device that is not on `except` (may be NULL). */
const struct mount_entry *mount_table_of_device(const struct mount_table *table, dev_t device,
                                                const char *except);
/* Whether a mount is the node of a device. *ret_number tells which one where /dev is a tmpfs that a
 * container runtime has filled, and is 0 in a devtmpfs: there the name, which is its root, is the
 * kernel's own. */
bool mount_entry_is_node(const struct mount_entry *entry, dev_t *ret_number);
/* The next mount of a device's node, "/dev/rbd0", behind entry `behind` (NULL: the first); NULL
 * when there is none. */
const struct mount_entry *mount_table_of_node(const struct mount_table *table, const char *device,
                                              const struct mount_entry *behind);

#endif
