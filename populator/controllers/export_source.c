/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/export_source.h"

#include "lib/base/memory.h"

int
export_source_find(struct populator *populator, const struct kube_object *object,
                   struct bound_volume *ret_volume, struct error **err)
{
  const char *claim = json_text(object->json, "spec", "pvcName");
  const char *volume = json_text(object->json, "spec", "virtualMachineVolume", "name");
  if (!claim && !volume)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "spec.pvcName, or spec.virtualMachineVolume.name, is needed");
  CLEANUP(freep) char *name = claim ? xstrdup(claim) : xasprintf("%s-vmv-pvc", volume);
  return bound_volume_find(populator, object->ns, name,
                           claim ? "spec.pvcName" : "spec.virtualMachineVolume.name", ret_volume,
                           err);
}
