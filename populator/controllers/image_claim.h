/* SPDX-License-Identifier: Apache-2.0 */
/* The claim in which an image keeps its data, `<name>-image-pvc`, and its volume. It refers to the
 * image as its data source, so that nobody else provisions it, and is bound when the data is
 * complete. */
#ifndef POPULATOR_CONTROLLERS_IMAGE_CLAIM_H
#define POPULATOR_CONTROLLERS_IMAGE_CLAIM_H

#include "populator/controllers/populator.h"
#include "populator/objects/persistent_volume.h"

struct image_claim {
  struct kube_object *claim;
  struct kube_object *storage_class;
  uint64_t bytes; /* of the volume */
  char *origin;   /* handle of the volume that it is cloned from; NULL: it is filled */
};

/* To be freed. */
char *image_claim_name(const struct kube_object *image);
/* The name of its class; NULL: the default. */
const char *image_claim_class(const struct kube_object *image);

/* Finds or makes the claim. virtual_bytes is 0 where it cannot be told in advance: then
 * spec.pvc.resources.requests.storage counts. FAILED_PRECONDITION or INVALID_ARGUMENT names the
 * field. */
int image_claim_open(struct populator *populator, const struct kube_object *image,
                     uint64_t virtual_bytes, struct image_claim *ret_claim, struct error **err);
void image_claim_clear(struct image_claim *claim);

/* Whether the claim may have a volume: one that was made anew, after the one before was deleted,
 * has none. */
bool image_claim_is_begun(const struct image_claim *claim);
/* The volume of the claim, made when there is none yet. */
int image_claim_volume(struct populator *populator, const struct image_claim *claim,
                       struct made_volume *ret_volume, struct error **err);
/* Binds the claim. */
int image_claim_bind(struct populator *populator, const struct image_claim *claim,
                     const struct made_volume *volume, struct error **err);
/* Removes the claim, and its volume unless it was handed over. handle may be NULL. */
int image_claim_remove(struct populator *populator, const struct kube_object *image,
                       const char *handle, struct error **err);

#endif
