/* SPDX-License-Identifier: Apache-2.0 */
/* The mount options that a StorageClass or PersistentVolume may ask for. What reaches beyond the
 * volume (other devices, files of the host, panics, remounts) is not among them. */
#ifndef NODEPLUGIN_MOUNT_OPTIONS_H
#define NODEPLUGIN_MOUNT_OPTIONS_H

#include <stdint.h>

#include "nodeplugin/option_list.h"

struct mount_options {
  uint64_t attributes;           /* MOUNT_ATTR_… of the mount */
  uint64_t cleared;              /* … that must be off: MOUNT_ATTR__ATIME where that is chosen */
  struct option_list filesystem; /* for the filesystem itself, "ro" included */
};

/* flags is the list of a volume capability; each may hold several options. `added` are options of
 * our own, "" for none. */
int mount_options_parse(const char *fs_type, char *const *flags, size_t count, const char *added,
                        struct mount_options *ret_options, struct error **err);
void mount_options_clear(struct mount_options *options);

#endif
