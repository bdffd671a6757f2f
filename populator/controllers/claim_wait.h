/* SPDX-License-Identifier: Apache-2.0 */
/* What a claim that is to be filled from ours waits for. */
#ifndef POPULATOR_CONTROLLERS_CLAIM_WAIT_H
#define POPULATOR_CONTROLLERS_CLAIM_WAIT_H

#include "populator/controllers/populator.h"

/* Whether it is known where the volume is to be, or does not matter. */
bool claim_may_be_placed(const struct kube_object *claim, const struct kube_object *storage_class);
/* For people, to be freed. */
char *claim_wait_text(struct populator *populator, const struct kube_object *claim);

#endif
