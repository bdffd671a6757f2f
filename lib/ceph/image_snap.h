/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of an open image: taken and removed. */
#ifndef LIB_CEPH_IMAGE_SNAP_H
#define LIB_CEPH_IMAGE_SNAP_H

#include "lib/ceph/image.h"

/* Fine when the name is there already; *ret_snap_id is its id either way. */
int image_snap_create(struct image *image, const char *snap_name, uint64_t *ret_snap_id,
                      struct error **err);
/* A snapshot with clones goes to the image's own trash and vanishes with the last of them.
 * Fine when it is gone. */
int image_snap_remove(struct image *image, uint64_t snap_id, struct error **err);

#endif
