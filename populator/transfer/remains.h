/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of imports that must not be, or were killed.
 *
 * An image is made under the name imprint.begin.<name>, marked, and gets its name then: so whatever
 * has the name and no mark is somebody else's, and is never touched. It is removed as
 * lib/ceph/unfinished.h says, by way of the trash. Whoever does that is entered as its owner first;
 * killed at any step, he leaves what the next import into the name finds: an image under one of the
 * two names, or one that is doomed in the trash. */
#ifndef POPULATOR_TRANSFER_REMAINS_H
#define POPULATOR_TRANSFER_REMAINS_H

#include "lib/ceph/location.h"

/* On an image that was imported to the end: its own id. */
#define REMAINS_READY_KEY "imprint.ready"

/* The name that an image is made under; to be freed. */
char *remains_begin_name(const char *name);
/* The object beside an image that holds its checkpoint; to be freed. */
char *remains_checkpoint_name(const char *image_id);

/* Removes the image with this id and name, if id is not NULL, with its checkpoint, and whatever was
 * begun or not removed to the end under the name before. Waits for whoever is at it, as
 * import_owner_wait(). ABORTED when it was finished meanwhile. */
int remains_remove(struct location *location, const char *name, const char *id, struct error **err);

#endif
