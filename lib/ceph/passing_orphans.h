/* SPDX-License-Identifier: Apache-2.0 */
/* Passing snapshots (passing_name.h) whose process died: their client does not watch the image any
 * more. */
#ifndef LIB_CEPH_PASSING_ORPHANS_H
#define LIB_CEPH_PASSING_ORPHANS_H

#include "lib/ceph/header.h"
#include "lib/ceph/location.h"

struct passing_orphans {
  unsigned removed;
  unsigned kept; /* their client still watches the image: look again later */
};

/* Removes those among the image's snapshots that belong to nobody. */
int passing_orphans_remove(struct location *location, const char *image_id,
                           const struct snaps *snaps, struct passing_orphans *ret_orphans,
                           struct error **err);
/* librbd removes a snapshot by way of the image's own trash, where one with clones stays until the
 * last of them goes. When it died or failed just then, it stays for ever without children: removes
 * such ones among the image's snapshots, as far as that can be done. */
void passing_orphans_remove_childless(struct location *location, const char *image_id,
                                      const struct snaps *snaps);

#endif
