/* SPDX-License-Identifier: Apache-2.0 */
/* The clones that a snapshot knows of: it is kept for as long as there is one. They stand in the
 * header of its image, put there by whoever makes the clone and taken out by whoever removes or
 * flattens it. */
#ifndef LIB_CEPH_CHILDREN_H
#define LIB_CEPH_CHILDREN_H

#include "lib/ceph/location.h"

/* A snapshot of an image. */
struct image_snap {
  struct location *location;
  const char *image_id;
  uint64_t snap_id;
};

/* Each answers 0, or what Ceph answered: -ENOENT to the first when the snapshot is gone or deleted.
 * The second does not mind a clone that is not there. */
int children_add(const struct image_snap *snap, const struct location *location,
                 const char *child_id);
int children_remove(const struct image_snap *snap, const struct location *location,
                    const char *child_id);

/* A clone whose header is gone will never be taken out by anybody else: its maker was slow, was
 * taken for dead, and died then. Takes out those among the first CHILDREN_LOOKED_AT, which is
 * enough: they are in the way only when the others have gone. How many there were. */
#define CHILDREN_LOOKED_AT 64
size_t children_drop_ghosts(const struct image_snap *snap);

#endif
