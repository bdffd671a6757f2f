/* SPDX-License-Identifier: Apache-2.0 */
/* status.conditions of kinds that have several. */
#ifndef POPULATOR_OBJECTS_CONDITIONS_H
#define POPULATOR_OBJECTS_CONDITIONS_H

#include "lib/kube/kube_object.h"

struct condition_row {
  const char *type;
  bool is_true;
  const char *reason;
  const char *message;
};

/* All conditions of the object, anew. The time of each is kept as long as its status does not turn.
 * To be put. */
struct json_object *conditions_json(const struct kube_object *object,
                                    const struct condition_row *rows, size_t count);
/* NULL when the object has none of that type. */
struct json_object *conditions_find(const struct kube_object *object, const char *type);
bool conditions_is_true(const struct kube_object *object, const char *type);

#endif
