/* SPDX-License-Identifier: Apache-2.0 */
/* What an import keeps beside the image that it fills: how far it is, and now and then a second
 * image, the spool. It removes both at its end. One that was ended before may never come back to
 * that, when the image is deleted and not filled by another; so both go with the image. */
#ifndef LIB_CEPH_IMPORT_REMAINS_H
#define LIB_CEPH_IMPORT_REMAINS_H

#include "lib/ceph/location.h"

/* The object that holds the checkpoint of an import into this image; to be freed. */
char *import_remains_checkpoint(const char *image_id);
/* The name of the spool; to be freed. */
char *import_remains_spool(const char *image_id);

/* For an image that is being removed, and that nobody works on. The spool goes to the trash. */
int import_remains_remove(struct location *location, const char *image_id, struct error **err);

#endif
