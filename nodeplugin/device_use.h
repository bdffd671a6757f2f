/* SPDX-License-Identifier: Apache-2.0 */
/* Where a volume's device is in use on this node, as the mount table tells: as a filesystem, or as
 * a disk, that is, its node, or that of its read-only view, at some path. Each check fails with
 * FAILED_PRECONDITION and says where.
 */
#ifndef NODEPLUGIN_DEVICE_USE_H
#define NODEPLUGIN_DEVICE_USE_H

#include "nodeplugin/mapper.h"

/* Nowhere; a filesystem may be at `except` (NULL: not there either). */
int device_use_check_none(const struct mapping *mapping, const char *except, struct error **err);
/* Not as a filesystem: whoever writes to a disk below a mounted filesystem destroys that. */
int device_use_check_not_mounted(const struct mapping *mapping, struct error **err);
/* Not as a disk. */
int device_use_check_no_disk(const struct mapping *mapping, struct error **err);
/* Nowhere but at the target, and where it is staged: its access mode allows one pod. */
int device_use_check_single(const struct mapping *mapping, const char *target, const char *staging,
                            struct error **err);

#endif
