/* SPDX-License-Identifier: Apache-2.0 */
/* ext4 and xfs on a device: made, checked, grown, by the system's own tools. */
#ifndef NODEPLUGIN_FILESYSTEM_H
#define NODEPLUGIN_FILESYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "nodeplugin/mkfs_options.h"

/* Where none is asked for. */
#define FILESYSTEM_DEFAULT "ext4"

bool filesystem_is_served(const char *fs_type);

/* is_again: an earlier mkfs of ours was cut off, so what is there may be overwritten. */
int filesystem_make(const char *device, const char *fs_type, const struct mkfs_options *options,
                    bool is_again, struct error **err);
/* Before it is mounted: replays what a crash left and mends what is safe to mend. DATA_LOSS when
 * more is wrong. (xfs does that itself when it is mounted.) */
int filesystem_check(const char *device, const char *fs_type, struct error **err);

/* Whether the device, not mounted, is larger than the filesystem on it by more than its rounding.
 */
int filesystem_is_short(const char *device, const char *fs_type, bool *ret_is_short,
                        struct error **err);
/* While it is mounted, at `path`. PERMISSION_DENIED when the kernel wants a privilege for it that
 * this process lacks (CAP_SYS_RESOURCE, for ext4). */
int filesystem_grow_mounted(const char *device, const char *fs_type, const char *path,
                            struct error **err);
/* While it is not mounted: ext4 alone can that. */
int filesystem_grow_unmounted(const char *device, const char *fs_type, struct error **err);

#endif
