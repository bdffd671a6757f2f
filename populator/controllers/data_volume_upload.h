/* SPDX-License-Identifier: Apache-2.0 */
/* A DataVolume that waits for a file to be sent: populator/upload receives it, and what has come is
 * imported from the volume that it is kept in. */
#ifndef POPULATOR_CONTROLLERS_DATA_VOLUME_UPLOAD_H
#define POPULATOR_CONTROLLERS_DATA_VOLUME_UPLOAD_H

#include "populator/controllers/upload_record.h"

/* All of it is here: what its import reads, to be put. */
int data_volume_upload_job(struct populator *populator, const struct kube_object *volume,
                           struct json_object **ret_job, struct error **err);
/* It is not there yet: the status says that it is waited for. */
int data_volume_upload_wait(struct populator *populator, const struct kube_object *volume,
                            const struct kube_object *claim, int64_t *ret_again_ms,
                            struct error **err);
/* Before it comes to its end, or goes: what was sent is removed. Fine for any DataVolume. */
int data_volume_upload_end(struct populator *populator, const struct kube_object *volume,
                           struct error **err);

#endif
