/* SPDX-License-Identifier: Apache-2.0 */
/* When the import of a VirtualMachineImage fails: once more, or never. */
#ifndef POPULATOR_CONTROLLERS_IMAGE_FAILURE_H
#define POPULATOR_CONTROLLERS_IMAGE_FAILURE_H

#include "populator/controllers/populator.h"

/* Of its transfer; to be freed. */
char *image_transfer_key(const struct kube_object *image);

/* Takes back what was made, so that nothing is left but the reason. */
int image_give_up(struct populator *populator, const struct kube_object *image, const char *message,
                  struct error **err);
/* Again after a pause, unless that has been done often enough. `more` is merged into the status and
 * is taken; it may be NULL. */
int image_retry(struct populator *populator, const struct kube_object *image, const char *reason,
                struct json_object *more, struct error **err);
/* A transfer failed: again after a pause, or not. */
int image_take_failure(struct populator *populator, const struct kube_object *image,
                       const struct transfer_view *view, struct error **err);
/* From the start: its source, checksum or class has been changed, or somebody asked for it. */
int image_start_over(struct populator *populator, const struct kube_object *image,
                     struct error **err);

#endif
