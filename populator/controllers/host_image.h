/* SPDX-License-Identifier: Apache-2.0 */
/* Images whose source is a file on a node. Such a file can be read there alone, while volumes are
 * made and bound by the populators beside the controller plugin. So the work is shared: a populator
 * on the node inspects and imports, and says in status.hostTransfer how that fares; the others do
 * all else, and look there in place of at a transfer of their own.
 *
 * Nobody asks the node: what is to be done next shows in the status. Each of the two writes fields
 * of its own, so neither gets in the other's way. */
#ifndef POPULATOR_CONTROLLERS_HOST_IMAGE_H
#define POPULATOR_CONTROLLERS_HOST_IMAGE_H

#include "populator/controllers/populator.h"

bool host_image_is_source(const struct kube_object *image);

/* Beside the controller plugin: how the node fares with the step that the image is at. Its trouble
 * is set when the node is not there to go on. INVALID_ARGUMENT when it cannot be done at all. */
int host_image_look(struct populator *populator, const struct kube_object *image,
                    struct transfer_view *ret_view, struct error **err);

/* On a node. */
int host_image_reconcile(struct populator *populator, const struct kube_object *image,
                         int64_t *ret_again_ms, struct error **err);

#endif
