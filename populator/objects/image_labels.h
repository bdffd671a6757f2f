/* SPDX-License-Identifier: Apache-2.0 */
/* What an image says of the machines to run it on: labels instancetype.kubevirt.io/default-…, which
 * are carried from the image to all that is made of it. */
#ifndef POPULATOR_OBJECTS_IMAGE_LABELS_H
#define POPULATOR_OBJECTS_IMAGE_LABELS_H

#include "lib/kube/kube_object.h"

/* Adds those of the object to `labels`; false when it has none. */
bool image_labels_copy(const struct kube_object *object, struct json_object *labels);
/* The same of labels themselves. */
bool image_labels_add(struct json_object *from, struct json_object *labels);
/* Of the environment that a container image sets:
 * INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=fedora becomes
 * instancetype.kubevirt.io/default-preference: fedora. Values that cannot be labels are left out.
 */
void image_labels_of_env(struct json_object *env, struct json_object *labels);

#endif
