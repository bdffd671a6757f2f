/* SPDX-License-Identifier: Apache-2.0 */
/* A device takes the size that its image has. The controller grows images, whether a node has a
 * device of them or not. */
#ifndef NODEPLUGIN_DEVICE_SIZE_H
#define NODEPLUGIN_DEVICE_SIZE_H

#include "nodeplugin/mapper.h"

/* Until the device has at least this size; at once where it has. UNAVAILABLE when it takes too
 * long. */
int device_size_follow(const struct mapper_env *env, const struct volume_id *id,
                       const struct mapping *mapping, uint64_t size_bytes, struct error **err);

#endif
