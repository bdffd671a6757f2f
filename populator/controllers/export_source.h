/* SPDX-License-Identifier: Apache-2.0 */
/* The volume that an export is of. */
#ifndef POPULATOR_CONTROLLERS_EXPORT_SOURCE_H
#define POPULATOR_CONTROLLERS_EXPORT_SOURCE_H

#include "populator/controllers/bound_volume.h"

/* spec.pvcName, or that of spec.virtualMachineVolume. As bound_volume_find(). */
int export_source_find(struct populator *populator, const struct kube_object *object,
                       struct bound_volume *ret_volume, struct error **err);

#endif
