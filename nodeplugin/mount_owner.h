/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a mount is, asked before it is undone: a path may be that of another volume, or of a pod's
 * secrets, and who names it is not simply believed. */
#ifndef NODEPLUGIN_MOUNT_OWNER_H
#define NODEPLUGIN_MOUNT_OWNER_H

#include "nodeplugin/node.h"
#include "nodeplugin/target_path.h"

/* FAILED_PRECONDITION when something is mounted at the path that is not the volume's. A mount whose
 * device is gone, or does not tell what it is, may be anybody's and is let pass. id: NULL when it
 * is not known; then every volume's mount passes. */
int mount_owner_check(const struct node *node, const struct volume_id *id,
                      const struct target_path *target, struct error **err);

#endif
