/* SPDX-License-Identifier: Apache-2.0 */
/* Which field of a spec the failure of a worker is about. Workers know of no fields; whoever reads
 * the message wants to know what to change. */
#ifndef POPULATOR_CONTROLLERS_FAILURE_FIELD_H
#define POPULATOR_CONTROLLERS_FAILURE_FIELD_H

#include "lib/kube/kube_object.h"

/* What a worker said of an object with a spec.source, with the field in front; to be freed. */
char *failure_field_tell(const struct kube_object *object, const char *checksum_field,
                         const char *message);

#endif
