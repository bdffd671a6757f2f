/* SPDX-License-Identifier: Apache-2.0 */
/* What a DataVolume that names a DataSource is a clone of.
 *
 * The DataSource may be pointed elsewhere at any time, so it is chosen once, before the claim is
 * made, and kept in status.clonedFrom. Whoever may change the DataVolume or its claim may not
 * change that: what stands there was chosen here, through the DataSource that was named. */
#ifndef POPULATOR_CONTROLLERS_CLONE_CHOICE_H
#define POPULATOR_CONTROLLERS_CLONE_CHOICE_H

#include "populator/controllers/populator.h"
#include "populator/objects/source_link.h"

/* What was chosen before, if it is still there and may still be cloned; else false. */
bool clone_choice_recall(struct populator *populator, const struct kube_object *volume,
                         struct source_link *ret_link);
/* The same, or what the DataVolume leads to now, which is put on record. Codes are those of
 * origin_find(); ABORTED when another populator was faster. */
int clone_choice_make(struct populator *populator, const struct kube_object *volume,
                      struct source_link *ret_link, struct error **err);

#endif
