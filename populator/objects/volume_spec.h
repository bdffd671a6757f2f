/* SPDX-License-Identifier: Apache-2.0 */
/* What a VirtualMachineVolume or a VirtualMachinePvc asks for. */
#ifndef POPULATOR_OBJECTS_VOLUME_SPEC_H
#define POPULATOR_OBJECTS_VOLUME_SPEC_H

#include "lib/kube/kube_kind.h"
#include "lib/kube/kube_object.h"

const struct kube_kind *volume_spec_kind(const struct kube_object *volume);
/* Of the claim that it makes. To be freed. */
char *volume_spec_claim(const struct kube_object *volume);
/* NULL when none is named. */
const char *volume_spec_image(const struct kube_object *volume);
const char *volume_spec_image_namespace(const struct kube_object *volume);

#endif
