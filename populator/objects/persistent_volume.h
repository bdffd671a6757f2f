/* SPDX-License-Identifier: Apache-2.0 */
/* The PersistentVolume of a volume that we made for a claim: as external-provisioner would write
 * it, so that it looks after it from then on. */
#ifndef POPULATOR_OBJECTS_PERSISTENT_VOLUME_H
#define POPULATOR_OBJECTS_PERSISTENT_VOLUME_H

#include "lib/base/string_map.h"
#include "lib/kube/kube_object.h"

struct made_volume {
  char *handle;
  uint64_t capacity_bytes;
  struct string_map context;
};

void made_volume_clear(struct made_volume *volume);

/* "pvc-<uid of the claim>": of the PersistentVolume and of the CSI request. To be freed. */
char *persistent_volume_name(const struct kube_object *claim);
/* To be put. */
struct json_object *persistent_volume_json(const struct kube_object *claim,
                                           const struct kube_object *storage_class,
                                           const char *driver, const struct made_volume *volume);

#endif
