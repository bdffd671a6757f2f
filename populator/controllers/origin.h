/* SPDX-License-Identifier: Apache-2.0 */
/* What a claim is to be filled from: follows its dataSourceRef to a snapshot in Ceph. */
#ifndef POPULATOR_CONTROLLERS_ORIGIN_H
#define POPULATOR_CONTROLLERS_ORIGIN_H

#include "populator/controllers/populator.h"

struct origin {
  char *snapshot; /* CSI handle */
  uint64_t bytes;
  struct kube_object *image;
};

/* Whether the claim's dataSourceRef is of a kind of ours at all. */
bool origin_is_ours(const struct kube_object *claim);
/* Whether the claim refers to that image, in whatever namespace. */
bool origin_refers_to(const struct kube_object *claim, const struct kube_object *image);
/* Whether it is the claim that the image itself made to keep its data in. */
bool origin_is_images_own(const struct kube_object *claim);

/* UNAVAILABLE: not yet, the message tells what it waits for. PERMISSION_DENIED: a grant is missing.
 * FAILED_PRECONDITION: it will never be, as things are. */
int origin_find(struct populator *populator, const struct kube_object *claim,
                struct origin *ret_origin, struct error **err);
void origin_clear(struct origin *origin);

#endif
