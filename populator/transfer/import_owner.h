/* SPDX-License-Identifier: Apache-2.0 */
/* Who works on an image that is being imported into. One process at a time does; one that died is
 * told from one that lives by its watch on the image, which Ceph drops after 30 seconds, or at once
 * when it ran on this machine. */
#ifndef POPULATOR_TRANSFER_IMPORT_OWNER_H
#define POPULATOR_TRANSFER_IMPORT_OWNER_H

#include "lib/base/string_map.h"
#include "lib/ceph/location.h"

/* Where an image's metadata says who it is. */
#define IMPORT_OWNER_KEY "imprint.import.owner"

/* This process, for the metadata; to be freed. */
char *import_owner_text(struct cluster *cluster);

/* Whether nobody else has the image open: UNAVAILABLE when somebody has, dead or alive. */
int import_owner_check(struct location *location, const char *name, const char *id,
                       const struct string_map *metadata, struct error **err);
/* Waits until nobody else has the image open. FAILED_PRECONDITION when somebody lives on. */
int import_owner_wait(struct location *location, const char *name, const char *id,
                      const struct string_map *metadata, struct error **err);

#endif
