/* SPDX-License-Identifier: Apache-2.0 */
/* The claim of a DataVolume, which has its name. */
#ifndef POPULATOR_CONTROLLERS_DATA_VOLUME_CLAIM_H
#define POPULATOR_CONTROLLERS_DATA_VOLUME_CLAIM_H

#include "populator/controllers/populator.h"
#include "populator/objects/data_volume_spec.h"
#include "populator/objects/source_link.h"

/* What is known of the content when the claim is made. */
struct data_volume_content {
  uint64_t bytes;                   /* it needs at least; 0: not known */
  struct json_object *labels;       /* of the image; NULL: none */
  const struct source_link *link;   /* that was chosen to be cloned; NULL: none */
  const char *mode;                 /* volumeMode of what is cloned; NULL: not known */
  const struct kube_object *source; /* the claim that is cloned, which tells what is not said */
};

/* INVALID_ARGUMENT and FAILED_PRECONDITION name the field. */
int data_volume_claim_make(struct populator *populator, const struct kube_object *volume,
                           const struct data_volume_content *content, struct error **err);

/* The class of the claim that was made; a reference. UNAVAILABLE when it is gone: it is deleted and
 * made again to be changed. */
int data_volume_claim_class(struct populator *populator, const struct kube_object *claim,
                            struct kube_object **ret_class, struct error **err);
/* Whether it may be filled: its class may want to wait for a pod. */
bool data_volume_claim_may_be_placed(const struct kube_object *claim,
                                     const struct kube_object *storage_class);

#endif
