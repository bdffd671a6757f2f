/* SPDX-License-Identifier: Apache-2.0 */
/* From a claim to its volume in Ceph. */
#ifndef POPULATOR_CONTROLLERS_BOUND_VOLUME_H
#define POPULATOR_CONTROLLERS_BOUND_VOLUME_H

#include "populator/controllers/populator.h"

struct bound_volume {
  char *handle;
  uint64_t bytes;
};

/* UNAVAILABLE while there is no such claim or it is not bound; INVALID_ARGUMENT when it is of
 * another driver. `field` is where the name stands. */
int bound_volume_find(struct populator *populator, const char *ns, const char *claim,
                      const char *field, struct bound_volume *ret_volume, struct error **err);
void bound_volume_clear(struct bound_volume *volume);

#endif
