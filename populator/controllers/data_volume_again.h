/* SPDX-License-Identifier: Apache-2.0 */
/* A DataVolume that has come to its end, and may begin anew: its claim was deleted, or it failed
 * and was changed since, or another attempt is asked for. What KubeVirt waits for would not come
 * otherwise. */
#ifndef POPULATOR_CONTROLLERS_DATA_VOLUME_AGAIN_H
#define POPULATOR_CONTROLLERS_DATA_VOLUME_AGAIN_H

#include "populator/controllers/populator.h"

/* Of one that is final. A change of its status calls again when it begins anew. */
int data_volume_again(struct populator *populator, const struct kube_object *volume,
                      struct error **err);

#endif
