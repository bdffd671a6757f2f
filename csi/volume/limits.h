/* SPDX-License-Identifier: Apache-2.0 */
/* VolumeAttributesClass parameters: RBD's own limits on how fast a volume may be used, by their own
 * names (rbd_qos_iops_limit, rbd_qos_read_bps_limit, …). 0 lifts a limit. */
#ifndef CSI_VOLUME_LIMITS_H
#define CSI_VOLUME_LIMITS_H

#include "lib/base/error.h"
#include "lib/base/string_map.h"

/* The image metadata that puts the limits in force, added to metadata; INVALID_ARGUMENT that names
 * the parameter. */
int limits_parse(const struct string_map *given, struct string_map *metadata, struct error **err);

#endif
