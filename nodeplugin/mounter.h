/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts and unmounts, by the kernel's descriptors and without mount(8): a mount is made and set up
 * aside and appears at its place in one step, read-only from the first moment where it is to be so;
 * one that was begun when the process died goes with it. */
#ifndef NODEPLUGIN_MOUNTER_H
#define NODEPLUGIN_MOUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "nodeplugin/mount_options.h"
#include "nodeplugin/target_path.h"

/* The filesystem on a device. What the kernel says when it refuses is in the message; DATA_LOSS
 * when it says that the filesystem is damaged, FAILED_PRECONDITION when it would have to write to a
 * device that is read-only. */
int mounter_mount(const char *device, const char *fs_type, const struct mount_options *options,
                  const struct target_path *target, struct error **err);
/* Has the kernel replay the journal of the filesystem on a device, as it does when it is mounted,
 * and mounts it nowhere: a process that dies over it leaves nothing behind. */
int mounter_replay(const char *device, const char *fs_type, const struct mount_options *options,
                   struct error **err);
/* What is mounted at `source`, once more at `target`. */
int mounter_bind(const struct target_path *source, const struct mount_options *options,
                 bool is_read_only, const struct target_path *target, struct error **err);
/* A device node, on the file `target`. */
int mounter_bind_device(const char *device, const struct target_path *target, struct error **err);
/* Until nothing is mounted there any more. Waits a while for those who use it. */
int mounter_unmount(const struct target_path *target, struct error **err);

#endif
