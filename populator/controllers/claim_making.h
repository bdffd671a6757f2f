/* SPDX-License-Identifier: Apache-2.0 */
/* The volume of a claim from its making in Ceph to its PersistentVolume: meanwhile nobody but us
 * knows of it. So before it is made the claim gets a finalizer, and a note of what it is made of,
 * by which it is found again whatever has become of its source; when the claim is deleted in
 * between, we are asked first.
 *
 * Whoever may change the claim may change the note. It is therefore good for removing a volume that
 * is named after the claim, and for nothing else. */
#ifndef POPULATOR_CONTROLLERS_CLAIM_MAKING_H
#define POPULATOR_CONTROLLERS_CLAIM_MAKING_H

#include "populator/controllers/populator.h"

/* CSI handles; neither: the volume begins empty. */
struct claim_making {
  const char *snapshot;
  const char *volume;
  const char *link; /* ANNOTATION_CLONED_FROM, or NULL */
};

/* From here on there may be a volume. FAILED_PRECONDITION when it was made of something else. */
int claim_making_begin(struct populator *populator, const struct kube_object *claim,
                       const struct kube_object *storage_class, const struct claim_making *making,
                       struct error **err);
/* Whether a PersistentVolume has taken over the care for the volume. */
int claim_making_is_handed_over(struct populator *populator, const struct kube_object *claim,
                                bool *ret_is, struct error **err);
/* Its volume was not handed over to a PersistentVolume, and is not wanted any more. */
int claim_making_take_back(struct populator *populator, const struct kube_object *claim,
                           struct error **err);

#endif
