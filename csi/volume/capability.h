/* SPDX-License-Identifier: Apache-2.0 */
/* Ways in which a volume may be used. */
#ifndef CSI_VOLUME_CAPABILITY_H
#define CSI_VOLUME_CAPABILITY_H

#include <csi.pb-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"

/* INVALID_ARGUMENT, saying why, when RBD cannot serve it. */
int capability_check(const Csi__V1__VolumeCapability *capability, struct error **err);
/* All of them; also when there are none, which CSI does not allow. */
int capabilities_check(Csi__V1__VolumeCapability *const *capabilities, size_t count,
                       struct error **err);

/* Whether several nodes may have the volume at once. */
bool capability_is_multi_node(const Csi__V1__VolumeCapability *capability);
bool capability_is_read_only(const Csi__V1__VolumeCapability *capability);

#endif
