/* SPDX-License-Identifier: Apache-2.0 */
/* What an export that is deleted before its end has left: an unfinished upload in the store, and
 * its record in Ceph. Its worker takes both back when it is stopped; where the store did not let
 * it, `imprint discard` goes on with that until the store does, or for as long as the populator is
 * told to (discard_s). Then an Event names what is left, and the object goes. */
#ifndef POPULATOR_CONTROLLERS_EXPORT_DISCARD_H
#define POPULATOR_CONTROLLERS_EXPORT_DISCARD_H

#include "populator/controllers/populator.h"

/* Between two attempts. */
#define EXPORT_DISCARD_PAUSE_MS 10000

/* As clean_up of a task. */
int export_discard(struct populator *populator, const struct kube_object *object,
                   bool *ret_is_clean, int64_t *ret_again_ms, struct error **err);

#endif
