/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/claim_wait.h"

#include "lib/base/memory.h"
#include "populator/controllers/origin.h"
#include "populator/objects/storage_class.h"

bool
claim_may_be_placed(const struct kube_object *claim, const struct kube_object *storage_class)
{
  return !storage_class_waits_for_consumer(storage_class) ||
         kube_object_annotation(claim, ANNOTATION_SELECTED_NODE) ||
         kube_object_annotation(claim, ANNOTATION_BIND_IMMEDIATE);
}

char *
claim_wait_text(struct populator *populator, const struct kube_object *claim)
{
  CLEANUP(kube_object_releasep) struct kube_object *storage_class = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  struct origin origin = {0};
  if (storage_class_find(populator->storage_classes,
                         json_text(claim->json, "spec", "storageClassName"), &storage_class,
                         &failure) < 0)
    return xasprintf("spec.storageClassName of PersistentVolumeClaim '%s/%s': %s", claim->ns,
                     claim->name, failure->message);
  if (!claim_may_be_placed(claim, storage_class))
    return xasprintf("PersistentVolumeClaim '%s/%s' waits for a pod that uses it, as StorageClass "
                     "'%s' wants it",
                     claim->ns, claim->name, storage_class->name);
  if (origin_find(populator, claim, &origin, &failure) < 0)
    return xstrdup(failure->message);
  origin_clear(&origin);
  return xstrdup("the claim is being filled");
}
