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

/* Disks of virtual machines are block devices; a filesystem holds no image in it. */
static int
put_mode(const struct kube_object *volume, const struct data_volume_content *content,
         struct json_object *spec, struct error **err)
{
  enum data_volume_kind kind = data_volume_spec_kind(volume);
  const char *asked = json_text(spec, "volumeMode");
  const char *of_source =
      content->source ? json_text(content->source->json, "spec", "volumeMode") : NULL;
  if (!asked && kind != DATA_VOLUME_CLAIM)
    json_put_text(spec, of_source ? of_source : "Block", "volumeMode");
  if (asked && strcmp(asked, "Filesystem") == 0 &&
      (kind == DATA_VOLUME_IMPORT || kind == DATA_VOLUME_UPLOAD))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "volumeMode: a disk image fills a Block volume, not a Filesystem");
  return 0;
}

static int
put_size(const struct data_volume_content *content, struct json_object *spec, struct error **err)
{
  static const char field[] = "resources.requests.storage";
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

/* The one that is named, the default for virtual machines, the default, the source's. */
static int
put_class(struct populator *populator, struct json_object *asked,
          const struct data_volume_content *content, struct json_object *spec, struct error **err)
{
  const char *name = json_text(asked, "storageClassName");
  CLEANUP(kube_object_releasep) struct kube_object *storage_class = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (!name)
    storage_class = storage_class_virt_default(populator->storage_classes);
  if (!storage_class &&
      storage_class_find(populator->storage_classes, name, &storage_class, &failure) < 0) {
    name = content->source ? json_text(content->source->json, "spec", "storageClassName") : NULL;
    if (!name || storage_class_find(populator->storage_classes, name, &storage_class, NULL) < 0)
      return error_set(err, ERROR_UNAVAILABLE, "%s", failure->message);
  }
  if (!storage_class_is_of(storage_class, populator->driver))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "storageClassName: StorageClass '%s' is of another driver than %s",
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
  if (json_count(json_at(spec, "accessModes")) == 0)
    json_put_at(spec, one_text(is_storage ? "ReadWriteMany" : "ReadWriteOnce"), "accessModes");
  if (put_class(populator, asked, content, spec, err) < 0 ||
      put_mode(volume, content, spec, err) < 0 || put_size(content, spec, err) < 0)
    return -1;
  if (kind == DATA_VOLUME_BLANK || kind == DATA_VOLUME_CLAIM)
    return 0; /* the provisioner, or another populator, does it */
  if (json_at(spec, "volumeName"))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "volumeName: a volume is made for this, and none that is there is filled");
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
  return storage_class_find(populator->storage_classes,
                            json_text(claim->json, "spec", "storageClassName"), ret_class, err);
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
