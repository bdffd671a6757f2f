/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads that nobody goes on with: a part of a file takes room in Ceph, and no quota counts it.
 * When nothing came for so long that its client will not come back, it is dropped, and that is
 * told. */
#ifndef POPULATOR_CONTROLLERS_UPLOAD_EXPIRY_H
#define POPULATOR_CONTROLLERS_UPLOAD_EXPIRY_H

#include "populator/controllers/upload_kind.h"

/* *ret_again_ms: when to look again; unchanged when there is nothing to look at. */
int upload_expiry_check(struct populator *populator, const struct upload_kind *kind,
                        const struct kube_object *object, int64_t *ret_again_ms,
                        struct error **err);

#endif
