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
/* status.readyToUse and .errorMessage, of kinds that have them: the same once more, for those who
 * do not read conditions. */
void condition_put_ready(const struct verdict *verdict, struct json_object *status);
/* What it says now, or "". */
const char *condition_state(const struct kube_object *object);
const char *condition_message(const struct kube_object *object);

#endif
