/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/attributes_class.h"

#include <string.h>

#define FIELD "spec.volumeAttributesClassName"

/* As servers have it that do not know the other version yet. */
static const struct kube_kind beta = {"storage.k8s.io", "v1beta1", "volumeattributesclasses",
                                      "VolumeAttributesClass", true};

static int
get(struct populator *populator, const char *name, struct kube_object **ret_class,
    struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_get(populator->client, &kube_volume_attributes_classes, NULL, name, ret_class,
               &failure) == 0)
    return 0;
  if (failure->code == ERROR_NOT_FOUND) {
    error_free(TAKE(failure));
    if (kube_get(populator->client, &beta, NULL, name, ret_class, &failure) == 0)
      return 0;
  }
  if (failure->code == ERROR_NOT_FOUND)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     FIELD ": there is no VolumeAttributesClass '%s'", name);
  return error_set(err, failure->code, FIELD ": %s", failure->message);
}

int
attributes_class_find(struct populator *populator, const struct kube_object *claim,
                      struct kube_object **ret_class, struct error **err)
{
  const char *name = json_text(claim->json, "spec", "volumeAttributesClassName");
  CLEANUP(kube_object_releasep) struct kube_object *found = NULL;
  *ret_class = NULL;
  if (!name || !*name)
    return 0;
  if (get(populator, name, &found, err) < 0)
    return -1;
  const char *driver = json_text(found->json, "driverName");
  if (!driver || strcmp(driver, populator->driver) != 0)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     FIELD ": VolumeAttributesClass '%s' is of another driver than %s", name,
                     populator->driver);
  *ret_class = TAKE(found);
  return 0;
}
