/* SPDX-License-Identifier: Apache-2.0 */
/* Which client copies an image free of its parents: a mark in the image's metadata.
 *
 * Meanwhile nobody may take a snapshot of the image: librbd writes a copied object to the image's
 * object map and not to that of a snapshot which is just then taken, and through the snapshot it
 * reads as zeros for ever. Clients do not tell each other what they are at, and librbd even takes
 * snapshots on behalf of others while it copies. So the one who copies writes the mark and then
 * looks who has the image open; the others open the image and then look for the mark. Whoever comes
 * second sees the other. */
#ifndef LIB_CEPH_FLATTENER_MARK_H
#define LIB_CEPH_FLATTENER_MARK_H

#include "lib/base/string_map.h"
#include "lib/ceph/location.h"

/* By cluster_client_id(); 0 when nobody does. */
void flattener_mark_write(uint64_t client_id, struct string_map *metadata);
uint64_t flattener_mark_read(const struct string_map *metadata);

/* For who has the image open: has another client that copies it make room (knock.h), and waits for
 * that. None begins as long as the image is open here. ABORTED when it does not leave. */
int flattener_mark_wait_gone(struct location *location, const char *image_id, struct error **err);

#endif
