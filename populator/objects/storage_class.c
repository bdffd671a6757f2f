/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/storage_class.h"

#include <string.h>

#define ANNOTATION_DEFAULT "storageclass.kubernetes.io/is-default-class"
#define ANNOTATION_VIRT_DEFAULT "storageclass.kubevirt.io/is-default-virt-class"

/* Of several defaults the newest counts, as it does for Kubernetes. */
static struct kube_object *
find_default(struct kube_mirror *classes, const char *annotation)
{
  CLEANUP(kube_objects_freep) struct kube_object **all = kube_mirror_all(classes, NULL);
  struct kube_object *best = NULL;
  const char *best_since = "";
  for (size_t i = 0; all[i]; i++) {
    const char *mark = kube_object_annotation(all[i], annotation);
    const char *since = json_text(all[i]->json, "metadata", "creationTimestamp");
    if (!mark || strcmp(mark, "true") != 0 || !since || strcmp(since, best_since) < 0)
      continue;
    best = all[i];
    best_since = since;
  }
  return kube_object_hold(best);
}

int
storage_class_find(struct kube_mirror *classes, const char *name, struct kube_object **ret_class,
                   struct error **err)
{
  *ret_class =
      name ? kube_mirror_get(classes, "", name) : find_default(classes, ANNOTATION_DEFAULT);
  if (*ret_class)
    return 0;
  if (name)
    return error_set(err, ERROR_FAILED_PRECONDITION, "there is no StorageClass '%s'", name);
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "no storageClassName is given and no StorageClass is the default");
}

const char *
storage_class_asked(struct json_object *spec)
{
  const char *name = json_text(spec, "storageClassName");
  return name && *name ? name : NULL;
}

struct kube_object *
storage_class_virt_default(struct kube_mirror *classes)
{
  return find_default(classes, ANNOTATION_VIRT_DEFAULT);
}

struct kube_object *
storage_class_only(struct kube_mirror *classes, const char *driver)
{
  CLEANUP(kube_objects_freep) struct kube_object **all = kube_mirror_all(classes, NULL);
  struct kube_object *only = NULL;
  for (size_t i = 0; all[i]; i++) {
    if (!storage_class_is_of(all[i], driver))
      continue;
    if (only)
      return NULL;
    only = all[i];
  }
  return kube_object_hold(only);
}

bool
storage_class_is_of(const struct kube_object *storage_class, const char *driver)
{
  const char *provisioner = json_text(storage_class->json, "provisioner");
  return provisioner && strcmp(provisioner, driver) == 0;
}

bool
storage_class_waits_for_consumer(const struct kube_object *storage_class)
{
  const char *mode = json_text(storage_class->json, "volumeBindingMode");
  return mode && strcmp(mode, "WaitForFirstConsumer") == 0;
}

const char *
storage_class_reclaim_policy(const struct kube_object *storage_class)
{
  const char *policy = json_text(storage_class->json, "reclaimPolicy");
  return policy ? policy : "Delete";
}
