/* SPDX-License-Identifier: Apache-2.0 */
/* The VolumeAttributesClass of a claim: limits that its volume is made with, and that can be
 * changed later. Kubernetes binds no volume to the claim that is not of the same class. */
#ifndef POPULATOR_CONTROLLERS_ATTRIBUTES_CLASS_H
#define POPULATOR_CONTROLLERS_ATTRIBUTES_CLASS_H

#include "populator/controllers/populator.h"

/* NULL when the claim names none; a reference. FAILED_PRECONDITION: there is none of that name, or
 * it is of another driver. */
int attributes_class_find(struct populator *populator, const struct kube_object *claim,
                          struct kube_object **ret_class, struct error **err);

#endif
