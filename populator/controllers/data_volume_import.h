/* SPDX-License-Identifier: Apache-2.0 */
/* DataVolumes with a source outside: looked at, then fetched into a volume. What was uploaded is
 * fetched the same way. */
#ifndef POPULATOR_CONTROLLERS_DATA_VOLUME_IMPORT_H
#define POPULATOR_CONTROLLERS_DATA_VOLUME_IMPORT_H

#include "populator/controllers/populator.h"
#include "populator/objects/persistent_volume.h"

/* Without a claim: the source tells how large the claim is to be. */
int data_volume_import_prepare(struct populator *populator, const struct kube_object *volume,
                               int64_t *ret_again_ms, struct error **err);
/* With one, which is not bound and may be placed. */
int data_volume_import_advance(struct populator *populator, const struct kube_object *volume,
                               const struct kube_object *claim,
                               const struct kube_object *storage_class, int64_t *ret_again_ms,
                               struct error **err);
/* The volume of a claim, made when there is none yet; to be cleared. */
int data_volume_import_volume(struct populator *populator, const struct kube_object *claim,
                              const struct kube_object *storage_class,
                              struct made_volume *ret_volume, struct error **err);
/* Whatever runs for it stops. */
void data_volume_import_forget(struct populator *populator, const struct kube_object *volume);

#endif
