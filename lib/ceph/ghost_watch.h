/* SPDX-License-Identifier: Apache-2.0 */
/* Watches that outlive their client.
 *
 * A client that is killed while it opens an image may leave a watch which nobody takes away: the
 * OSD (seen with 16.2.15) writes it down, then finds the connection gone and never starts the clock
 * that would end it, nor does it see it when the client is blocklisted. librbd lists it, holds the
 * image to be in use, and refuses to remove it for as long as the OSD keeps the object in memory.
 */
#ifndef LIB_CEPH_GHOST_WATCH_H
#define LIB_CEPH_GHOST_WATCH_H

#include <stdbool.h>

#include "lib/ceph/location.h"

/* Takes such watches off an image. Whether there were any and no client is left that lives: then
 * what was refused may be tried again. Only for images that nobody may open any more. */
bool ghost_watch_remove(struct location *location, const char *image_id);

#endif
