/* SPDX-License-Identifier: Apache-2.0 */
/* The filesystem half of staging: from a device to a mount. */
#ifndef NODEPLUGIN_STAGE_FILESYSTEM_H
#define NODEPLUGIN_STAGE_FILESYSTEM_H

#include "nodeplugin/target_path.h"
#include "nodeplugin/volume.h"

/* Makes the filesystem where the volume is blank, checks it, mounts it at `target` and has it take
 * the size of its device. Goes on where an earlier call was cut off. *mapping may become another
 * device on the way. */
int stage_filesystem(struct node *node, const struct volume *volume, struct mapping *mapping,
                     const Csi__V1__VolumeCapability__MountVolume *mount,
                     const struct target_path *target, struct error **err);

#endif
