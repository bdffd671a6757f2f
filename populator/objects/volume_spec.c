/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/volume_spec.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/objects/kinds.h"

const struct kube_kind *
volume_spec_kind(const struct kube_object *volume)
{
  const char *kind = json_text(volume->json, "kind");
  return kind && strcmp(kind, virtual_machine_pvcs.kind) == 0 ? &virtual_machine_pvcs
                                                              : &virtual_machine_volumes;
}

char *
volume_spec_claim(const struct kube_object *volume)
{
  return volume_spec_kind(volume) == &virtual_machine_pvcs ? xstrdup(volume->name)
                                                           : xasprintf("%s-vmv-pvc", volume->name);
}

const char *
volume_spec_image(const struct kube_object *volume)
{
  const char *name = json_text(volume->json, "spec", "virtualMachineImageName");
  return name ? name : json_text(volume->json, "spec", "virtualMachineImage", "name");
}

const char *
volume_spec_image_namespace(const struct kube_object *volume)
{
  const char *ns = json_text(volume->json, "spec", "virtualMachineImage", "namespace");
  return ns ? ns : volume->ns;
}
