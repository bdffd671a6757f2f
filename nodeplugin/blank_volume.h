/* SPDX-License-Identifier: Apache-2.0 */
/* A filesystem for a volume, made at most once in the volume's life.
 *
 * Only a blank volume gets one; anything that is there is never written over. mkfs may be cut off
 * in the middle, and what it leaves then looks like somebody's data. So a mark on the image says,
 * from before the first byte until after the last, that what is there is ours: only with it is a
 * volume that is not blank formatted, again. Nobody has used the volume meanwhile, because it is
 * handed out only without the mark. */
#ifndef NODEPLUGIN_BLANK_VOLUME_H
#define NODEPLUGIN_BLANK_VOLUME_H

#include "nodeplugin/volume.h"

/* The filesystem that the volume holds or has got: "ext4" or "xfs", a constant. fs_type is what is
 * asked for, "" for whichever; *ret_is_fresh says whether it was made just now.
 * FAILED_PRECONDITION, saying what is there, when that is something else. */
int blank_volume_format(const struct volume *volume, const struct mapping *mapping,
                        const char *fs_type, const char **ret_fs_type, bool *ret_is_fresh,
                        struct error **err);
/* Before the volume is handed out as a disk: whatever is on it is somebody's data from then on,
 * even where it looks like what a call that died has left of mkfs. */
int blank_volume_give_up(const struct volume *volume, struct error **err);

#endif
