/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/persistent_volume.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/objects/kinds.h"
#include "populator/objects/quantity.h"
#include "populator/objects/storage_class.h"

/* The provisioner removes the volume before it lets go of the object. */
#define PROVISIONER_FINALIZER "external-provisioner.volume.kubernetes.io/finalizer"
#define PARAMETER_FS_TYPE "csi.storage.k8s.io/fstype"

void
made_volume_clear(struct made_volume *volume)
{
  free(volume->handle);
  string_map_clear(&volume->context);
  *volume = (struct made_volume){0};
}

char *
persistent_volume_name(const struct kube_object *claim)
{
  return xasprintf("pvc-%s", claim->uid);
}

static struct json_object *
claim_reference(const struct kube_object *claim)
{
  struct json_object *reference = json_object_new_object();
  json_put_text(reference, "v1", "apiVersion");
  json_put_text(reference, "PersistentVolumeClaim", "kind");
  json_put_text(reference, claim->ns, "namespace");
  json_put_text(reference, claim->name, "name");
  json_put_text(reference, claim->uid, "uid");
  return reference;
}

static bool
is_block(const struct kube_object *claim)
{
  const char *mode = json_text(claim->json, "spec", "volumeMode");
  return mode && strcmp(mode, "Block") == 0;
}

static struct json_object *
csi_source(const struct kube_object *claim, const struct kube_object *storage_class,
           const char *driver, const struct made_volume *volume)
{
  struct json_object *csi = json_object_new_object();
  json_put_text(csi, driver, "driver");
  json_put_text(csi, volume->handle, "volumeHandle");
  for (size_t i = 0; i < volume->context.count; i++)
    json_put_text(csi, volume->context.entries[i].value, "volumeAttributes",
                  volume->context.entries[i].key);
  const char *fs_type = json_text(storage_class->json, "parameters", PARAMETER_FS_TYPE);
  if (!is_block(claim))
    json_put_text(csi, fs_type ? fs_type : "ext4", "fsType");
  return csi;
}

static void
copy_member(struct json_object *to, const char *name, struct json_object *value)
{
  if (value)
    json_object_object_add(to, name, json_copy(value));
}

struct json_object *
persistent_volume_json(const struct kube_object *claim, const struct kube_object *storage_class,
                       const char *driver, const struct made_volume *volume)
{
  CLEANUP(freep) char *name = persistent_volume_name(claim);
  char capacity[QUANTITY_TEXT_BYTES];
  struct json_object *pv = json_object_new_object();
  json_put_text(pv, name, "metadata", "name");
  json_put_text(pv, driver, "metadata", "annotations", ANNOTATION_PROVISIONED_BY);
  struct json_object *finalizers = json_object_new_array();
  json_object_array_add(finalizers, json_object_new_string(PROVISIONER_FINALIZER));
  json_put_at(pv, finalizers, "metadata", "finalizers");

  struct json_object *spec = json_object_new_object();
  json_put_text(spec, quantity_text(volume->capacity_bytes, capacity), "capacity", "storage");
  copy_member(spec, "accessModes", json_at(claim->json, "spec", "accessModes"));
  copy_member(spec, "mountOptions", json_at(storage_class->json, "mountOptions"));
  json_put_text(spec, storage_class_reclaim_policy(storage_class), "persistentVolumeReclaimPolicy");
  json_put_text(spec, storage_class->name, "storageClassName");
  copy_member(spec, "volumeAttributesClassName",
              json_at(claim->json, "spec", "volumeAttributesClassName"));
  json_put_text(spec, is_block(claim) ? "Block" : "Filesystem", "volumeMode");
  json_put_at(spec, claim_reference(claim), "claimRef");
  json_put_at(spec, csi_source(claim, storage_class, driver, volume), "csi");
  json_put_at(pv, spec, "spec");
  return pv;
}
