/* SPDX-License-Identifier: Apache-2.0 */
/* Who empties a location's trash.
 *
 * Several processes may find the same images there. librbd is not made for two that remove one
 * image at the same time: they take its lock from each other, the one who loses it aborts the
 * process, or makes the header of an image anew that is gone. So one of them has the trash to
 * himself. The lock runs out by itself; that of a client which was blocklisted, as a killed
 * predecessor is, is broken at once. */
#ifndef LIB_CEPH_TRASH_LOCK_H
#define LIB_CEPH_TRASH_LOCK_H

#include <stdbool.h>

#include "lib/ceph/location.h"

/* It holds for so long behind each taking. */
#define TRASH_LOCK_SECONDS 120

/* Takes the lock, or renews it. *ret_is_ours is false when somebody else has it. The trash must
 * have been there: the lock stands on its object. */
int trash_lock_take(struct location *location, bool *ret_is_ours, struct error **err);
void trash_lock_release(struct location *location);

#endif
