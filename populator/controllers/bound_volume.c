/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/bound_volume.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/objects/quantity.h"

int
bound_volume_find(struct populator *populator, const char *ns, const char *claim_name,
                  const char *field, struct bound_volume *ret_volume, struct error **err)
{
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, ns, claim_name);
  CLEANUP(kube_object_releasep) struct kube_object *volume = NULL;
  if (!claim)
    return error_set(err, ERROR_UNAVAILABLE, "%s: there is no PersistentVolumeClaim '%s/%s'", field,
                     ns, claim_name);
  const char *name = json_text(claim->json, "spec", "volumeName");
  const char *phase = json_text(claim->json, "status", "phase");
  if (!name || !phase || strcmp(phase, "Bound") != 0)
    return error_set(err, ERROR_UNAVAILABLE, "%s: PersistentVolumeClaim '%s/%s' is not bound yet",
                     field, ns, claim_name);
  if (kube_get(populator->client, &kube_persistent_volumes, NULL, name, &volume, err) < 0)
    return -1;
  const char *driver = json_text(volume->json, "spec", "csi", "driver");
  const char *handle = json_text(volume->json, "spec", "csi", "volumeHandle");
  if (!driver || !handle || strcmp(driver, populator->driver) != 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "%s: PersistentVolumeClaim '%s/%s' is of another driver than %s", field, ns,
                     claim_name, populator->driver);
  if (quantity_of(json_at(volume->json, "spec", "capacity", "storage"), "its capacity",
                  &ret_volume->bytes, err) < 0)
    return -1;
  ret_volume->handle = xstrdup(handle);
  return 0;
}

void
bound_volume_clear(struct bound_volume *volume)
{
  free(volume->handle);
  *volume = (struct bound_volume){0};
}
