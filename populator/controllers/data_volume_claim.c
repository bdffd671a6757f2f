/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/data_volume_claim.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/objects/quantity.h"
#include "populator/objects/storage_class.h"

#define MIB ((uint64_t)1 << 20)

/* What the claim takes over as it is. */
static const char *const members[] = {
    "accessModes", "resources",     "selector",  "volumeMode", "volumeAttributesClassName",
    "dataSource",  "dataSourceRef", "volumeName"};

/* What other parts write on claims is not taken over from a DataVolume. */
static const char own_prefix[] = "imprint." KINDS_GROUP "/";
static const char *const foreign_prefixes[] = {"kubectl.kubernetes.io/", "volume.kubernetes.io/",
                                               "volume.beta.kubernetes.io/", "pv.kubernetes.io/",
                                               own_prefix};

/* ---- the parts --------------------------------------------------------------------------------
 */

static struct json_object *
one_text(const char *text)
{
  struct json_object *list = json_object_new_array();
  json_object_array_add(list, json_object_new_string(text));
  return list;
}

/* Of an image or a DataSource: a disk, which is filled here. */
static bool
refers_to_ours(struct json_object *spec)
{
  const char *group = json_text(spec, "dataSourceRef", "apiGroup");
  return group && (strcmp(group, KINDS_GROUP) == 0 || strcmp(group, KINDS_CDI_GROUP) == 0);
}

/* Disks of virtual machines are block devices, and a clone is what its source is: nothing turns a
 * filesystem into a disk, or a disk into a filesystem with a file in it. */
static int
put_mode(const struct kube_object *volume, const struct data_volume_content *content,
         struct json_object *spec, struct error **err)
{
  bool is_storage;
  enum data_volume_kind kind = data_volume_spec_kind(volume);
  bool is_image = kind == DATA_VOLUME_IMPORT || kind == DATA_VOLUME_UPLOAD;
  const char *asked = json_text(spec, "volumeMode");
  const char *needed = is_image ? "Block" : content->mode;
  (void)data_volume_spec_claim(volume, &is_storage);
  if (!asked && (kind != DATA_VOLUME_CLAIM || refers_to_ours(spec)))
    json_put_text(spec, needed ? needed : "Block", "volumeMode");
  if (!asked || !needed || strcmp(asked, needed) == 0)
    return 0;
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "spec.%s.volumeMode is %s, and %s: leave it out, or set it to %s",
                   is_storage ? "storage" : "pvc", asked,
                   is_image ? "an image is written to a block device" : "its source's is not",
                   needed);
}

/* A machine that moves has its disk on two nodes for a moment; a filesystem cannot be. */
static void
put_access(bool is_storage, struct json_object *spec)
{
  const char *mode = json_text(spec, "volumeMode");
  bool may_be_shared = is_storage && mode && strcmp(mode, "Block") == 0;
  if (json_count(json_at(spec, "accessModes")) == 0)
    json_put_at(spec, one_text(may_be_shared ? "ReadWriteMany" : "ReadWriteOnce"), "accessModes");
}

static int
put_size(const struct data_volume_content *content, bool is_storage, struct json_object *spec,
         struct error **err)
{
  const char *field = is_storage ? "spec.storage.resources.requests.storage"
                                 : "spec.pvc.resources.requests.storage";
  char asked[QUANTITY_TEXT_BYTES];
  char needed[QUANTITY_TEXT_BYTES];
  uint64_t bytes;
  if (quantity_of(json_at(spec, "resources", "requests", "storage"), field, &bytes, err) < 0)
    return -1;
  if (bytes == 0 && content->bytes == 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "%s is needed: how much is to be stored does not show before", field);
  if (bytes > 0 && bytes < content->bytes)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s is %s, the source needs %s", field,
                     quantity_text(bytes, asked), quantity_text(content->bytes, needed));
  if (bytes == 0)
    json_put_text(spec, quantity_text((content->bytes + MIB - 1) / MIB * MIB, needed), "resources",
                  "requests", "storage");
  return 0;
}

/* A reference to it if it is of our driver, else NULL. Takes the class. */
static struct kube_object *
own_or_none(struct populator *populator, struct kube_object *storage_class)
{
  if (storage_class && storage_class_is_of(storage_class, populator->driver))
    return storage_class;
  kube_object_release(storage_class);
  return NULL;
}

/* None is named: the default for virtual machines, the default, the source's, the only one there
 * is; but one of ours. NULL: there is none. A reference. */
static struct kube_object *
choose_class(struct populator *populator, const struct data_volume_content *content)
{
  struct kube_mirror *classes = populator->storage_classes;
  const char *of_source =
      content->source ? json_text(content->source->json, "spec", "storageClassName") : NULL;
  struct kube_object *found = own_or_none(populator, storage_class_virt_default(classes));
  if (!found && storage_class_find(classes, NULL, &found, NULL) == 0)
    found = own_or_none(populator, found);
  if (!found && of_source)
    found = own_or_none(populator, kube_mirror_get(classes, "", of_source));
  return found ? found : storage_class_only(classes, populator->driver);
}

static int
put_class(struct populator *populator, const struct kube_object *volume,
          const struct data_volume_content *content, struct json_object *spec, struct error **err)
{
  bool is_storage;
  struct json_object *asked = data_volume_spec_claim(volume, &is_storage);
  const char *field = is_storage ? "spec.storage.storageClassName" : "spec.pvc.storageClassName";
  const char *name = storage_class_asked(asked);
  CLEANUP(kube_object_releasep)
  struct kube_object *storage_class = name ? kube_mirror_get(populator->storage_classes, "", name)
                                           : choose_class(populator, content);
  if (!storage_class && name)
    return error_set(err, ERROR_UNAVAILABLE, "%s: there is no StorageClass '%s'", field, name);
  if (!storage_class)
    return error_set(err, ERROR_UNAVAILABLE,
                     "%s is needed: no StorageClass of driver %s is the default, nor the only one",
                     field, populator->driver);
  if (!storage_class_is_of(storage_class, populator->driver))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "%s: StorageClass '%s' is of another driver than %s", field,
                     storage_class->name, populator->driver);
  json_put_text(spec, storage_class->name, "storageClassName");
  return 0;
}

static int
make_spec(struct populator *populator, const struct kube_object *volume,
          const struct data_volume_content *content, struct json_object *spec, struct error **err)
{
  bool is_storage;
  struct json_object *asked = data_volume_spec_claim(volume, &is_storage);
  enum data_volume_kind kind = data_volume_spec_kind(volume);
  for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
    struct json_object *value = json_at(asked, members[i]);
    if (value)
      json_put_at(spec, json_copy(value), members[i]);
  }
  if (put_class(populator, volume, content, spec, err) < 0 ||
      put_mode(volume, content, spec, err) < 0 || put_size(content, is_storage, spec, err) < 0)
    return -1;
  put_access(is_storage, spec);
  if (kind == DATA_VOLUME_BLANK || kind == DATA_VOLUME_CLAIM)
    return 0; /* the provisioner, or another populator, does it */
  if (json_at(spec, "volumeName"))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "spec.%s.volumeName: a volume is made for this, and none that is there is "
                     "filled",
                     is_storage ? "storage" : "pvc");
  json_put_text(spec, data_volumes.group, "dataSourceRef", "apiGroup");
  json_put_text(spec, data_volumes.kind, "dataSourceRef", "kind");
  json_put_text(spec, volume->name, "dataSourceRef", "name");
  return 0;
}

static bool
is_foreign(const char *name)
{
  for (size_t i = 0; i < sizeof(foreign_prefixes) / sizeof(foreign_prefixes[0]); i++) {
    if (text_starts_with(name, foreign_prefixes[i]))
      return true;
  }
  return false;
}

static void
copy_texts(struct json_object *from, struct json_object *to)
{
  if (!json_object_is_type(from, json_type_object))
    return;
  json_object_object_foreach(from, name, value)
  {
    if (!is_foreign(name) && json_object_is_type(value, json_type_string))
      json_object_object_add(to, name, json_object_new_string(json_object_get_string(value)));
  }
}

/* What the image says of itself counts less than what the DataVolume says. */
static struct json_object *
make_metadata(const struct kube_object *volume, const struct data_volume_content *content)
{
  struct json_object *metadata = json_object_new_object();
  struct json_object *labels = json_object_new_object();
  struct json_object *annotations = json_object_new_object();
  copy_texts(content->labels, labels);
  copy_texts(json_at(volume->json, "metadata", "labels"), labels);
  copy_texts(json_at(volume->json, "metadata", "annotations"), annotations);
  if (content->link) {
    CLEANUP(freep) char *link = source_link_text(content->link);
    json_put_text(annotations, link, ANNOTATION_CLONED_FROM);
  }
  json_put_text(metadata, volume->ns, "namespace");
  json_put_text(metadata, volume->name, "name");
  json_put_at(metadata, labels, "labels");
  json_put_at(metadata, annotations, "annotations");
  json_put_at(metadata, kube_object_owner_references(volume, &data_volumes), "ownerReferences");
  return metadata;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

int
data_volume_claim_make(struct populator *populator, const struct kube_object *volume,
                       const struct data_volume_content *content, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *json = json_object_new_object();
  struct json_object *spec = json_object_new_object();
  json_put_at(json, make_metadata(volume, content), "metadata");
  json_put_at(json, spec, "spec");
  CLEANUP(error_freep) struct error *failure = NULL;
  if (make_spec(populator, volume, content, spec, err) < 0)
    return -1;
  if (kube_create(populator->client, &kube_persistent_volume_claims, json, NULL, &failure) == 0 ||
      failure->code == ERROR_ALREADY_EXISTS)
    return 0;
  /* a quota or a policy: it may pass, and is to be told */
  return error_set(err,
                   failure->code == ERROR_PERMISSION_DENIED ? ERROR_UNAVAILABLE : failure->code,
                   "%s", failure->message);
}

int
data_volume_claim_class(struct populator *populator, const struct kube_object *claim,
                        struct kube_object **ret_class, struct error **err)
{
  CLEANUP(error_freep) struct error *missing = NULL;
  if (storage_class_find(populator->storage_classes,
                         json_text(claim->json, "spec", "storageClassName"), ret_class,
                         &missing) == 0)
    return 0;
  return error_set(err, ERROR_UNAVAILABLE, "%s", missing->message);
}

bool
data_volume_claim_may_be_placed(const struct kube_object *claim,
                                const struct kube_object *storage_class)
{
  return !storage_class_waits_for_consumer(storage_class) ||
         kube_object_has_finalizer(claim, FINALIZER_CLAIM) || /* begun: a node's end is no reason */
         kube_object_annotation(claim, ANNOTATION_SELECTED_NODE) ||
         kube_object_annotation(claim, ANNOTATION_BIND_IMMEDIATE);
}
