/* SPDX-License-Identifier: Apache-2.0 */
/* Where an export goes, put into its job. */
#ifndef POPULATOR_CONTROLLERS_EXPORT_DESTINATION_H
#define POPULATOR_CONTROLLERS_EXPORT_DESTINATION_H

#include "populator/controllers/populator.h"

/* spec.objectStore, spec.destination.s3 or .registry: the URL behind the arguments that are there,
 * and all that is needed to reach it. Where a Secret is missing the URL is there all the same. */
int export_destination_add(struct populator *populator, const struct kube_object *object,
                           struct json_object *job, struct error **err);

#endif
