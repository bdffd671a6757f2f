/* SPDX-License-Identifier: Apache-2.0 */
/* Exports that stay in the cluster, spec.destination.local: a snapshot of the volume, of which a
 * file is made whenever somebody fetches it. So an export is ready at once and takes no space but
 * for what is written to the volume afterwards, and it outlives the volume. */
#ifndef POPULATOR_CONTROLLERS_LOCAL_EXPORT_H
#define POPULATOR_CONTROLLERS_LOCAL_EXPORT_H

#include "populator/controllers/populator.h"

bool local_export_is(const struct kube_object *object);
bool local_export_is_raw(const struct kube_object *object);
int local_export_reconcile(struct populator *populator, const struct kube_object *object,
                           int64_t *ret_again_ms, struct error **err);
/* The worker's job for one that is ready, but for where it writes to. To be put. */
struct json_object *local_export_job(const struct kube_object *object);

#endif
