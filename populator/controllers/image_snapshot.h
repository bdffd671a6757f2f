/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshot that all volumes of an image are clones of. It is named after the image: so one that
 * was taken by a process which died before it was on record is found again. */
#ifndef POPULATOR_CONTROLLERS_IMAGE_SNAPSHOT_H
#define POPULATOR_CONTROLLERS_IMAGE_SNAPSHOT_H

#include "populator/controllers/populator.h"

/* Of the image's volume. *ret_handle is to be freed. */
int image_snapshot_take(struct populator *populator, const struct kube_object *image,
                        const char *volume, char **ret_handle, struct error **err);
/* On record or not. Fine when there is none. */
int image_snapshot_remove(struct populator *populator, const struct kube_object *image,
                          struct error **err);

#endif
