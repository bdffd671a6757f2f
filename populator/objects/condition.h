/* SPDX-License-Identifier: Apache-2.0 */
/* status.state and the condition ReadyToUse of our kinds. */
#ifndef POPULATOR_OBJECTS_CONDITION_H
#define POPULATOR_OBJECTS_CONDITION_H

#include "lib/kube/kube_object.h"

struct verdict {
  const char *state;  /* "Creating" */
  const char *reason; /* "VmiIsCreating" */
  const char *message;
  bool is_ready;
};

/* A status for kube_patch_status(): state and conditions; what else the kind has is added to it.
 * The time of the condition is kept as long as its status does not turn. To be put. */
struct json_object *condition_status(const struct kube_object *object,
                                     const struct verdict *verdict);
/* What it says now, or "". */
const char *condition_state(const struct kube_object *object);

#endif
