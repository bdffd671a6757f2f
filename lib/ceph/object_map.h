/* SPDX-License-Identifier: Apache-2.0 */
/* Whether librbd believes an image's object map.
 *
 * An object is entered in the map before it is written, so a client that is killed, this one or a
 * node's, leaves objects in it that are not there. That does no harm but for one thing: librbd does
 * not copy what the map says is there when it flattens a clone (until 2025, Ceph's issue 68998),
 * and with the parent the data of these objects is gone. Rebuilding the map leaves them in, too. A
 * map with the flag "invalid", which stands in the image's header, is asked by nobody, but kept. */
#ifndef LIB_CEPH_OBJECT_MAP_H
#define LIB_CEPH_OBJECT_MAP_H

#include <stdbool.h>

#include "lib/ceph/image.h"

/* All answer 0, or what Ceph answered; and do nothing for an image without a map. */

/* *ret_was_trusted: whether the flag was not set before. */
int object_map_distrust(struct image *image, bool *ret_was_trusted);
/* Takes the flag off: only when nobody was killed since it was set. */
int object_map_trust(struct image *image);
/* Makes the map of an image that is not trusted anew, from the objects, and takes the flag off. */
int object_map_rebuild(struct image *image);

#endif
