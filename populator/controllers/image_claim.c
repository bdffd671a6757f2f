/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/image_claim.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/attributes_class.h"
#include "populator/controllers/claim_making.h"
#include "populator/objects/condition.h"
#include "populator/objects/quantity.h"
#include "populator/objects/storage_class.h"
#include "populator/work/volumes.h"

char *
image_claim_name(const struct kube_object *image)
{
  return xasprintf("%s-image-pvc", image->name);
}

const char *
image_claim_class(const struct kube_object *image)
{
  struct json_object *spec = json_at(image->json, "spec");
  const char *name = storage_class_asked(spec);
  return name ? name : storage_class_asked(json_at(spec, "pvc"));
}

/* What is asked for, or what the content needs; never less than that. */
static int
choose_size(const struct kube_object *image, uint64_t virtual_bytes, uint64_t *ret_bytes,
            struct error **err)
{
  static const char field[] = "spec.pvc.resources.requests.storage";
  char asked[QUANTITY_TEXT_BYTES];
  char needed[QUANTITY_TEXT_BYTES];
  if (quantity_of(json_at(image->json, "spec", "pvc", "resources", "requests", "storage"), field,
                  ret_bytes, err) < 0)
    return -1;
  if (*ret_bytes == 0 && virtual_bytes == 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "%s is needed: how large the image is shows only at its end", field);
  if (*ret_bytes > 0 && *ret_bytes < virtual_bytes)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s is %s, the image needs %s", field,
                     quantity_text(*ret_bytes, asked), quantity_text(virtual_bytes, needed));
  if (*ret_bytes == 0)
    *ret_bytes = virtual_bytes;
  return 0;
}

static struct json_object *
one_text(const char *text)
{
  struct json_object *list = json_object_new_array();
  json_object_array_add(list, json_object_new_string(text));
  return list;
}

/* A disk that is not mounted by anyone: block, one writer, unless the image says otherwise. */
static struct json_object *
claim_json(const struct kube_object *image, const char *name, const struct image_claim *claim)
{
  char size[QUANTITY_TEXT_BYTES];
  struct json_object *given = json_at(image->json, "spec", "pvc");
  struct json_object *spec = json_object_new_object();
  struct json_object *modes = json_at(given, "accessModes");
  const char *volume_mode = json_text(given, "volumeMode");
  json_put_at(spec, json_count(modes) ? json_copy(modes) : one_text("ReadWriteOnce"),
              "accessModes");
  json_put_text(spec, volume_mode ? volume_mode : "Block", "volumeMode");
  if (json_text(given, "volumeAttributesClassName"))
    json_put_text(spec, json_text(given, "volumeAttributesClassName"), "volumeAttributesClassName");
  json_put_text(spec, claim->storage_class->name, "storageClassName");
  json_put_text(spec, quantity_text(claim->bytes, size), "resources", "requests", "storage");
  json_put_text(spec, virtual_machine_images.group, "dataSourceRef", "apiGroup");
  json_put_text(spec, virtual_machine_images.kind, "dataSourceRef", "kind");
  json_put_text(spec, image->name, "dataSourceRef", "name");
  struct json_object *json = json_object_new_object();
  json_put_text(json, image->ns, "metadata", "namespace");
  json_put_text(json, name, "metadata", "name");
  json_put_at(json, kube_object_owner_references(image, &virtual_machine_images), "metadata",
              "ownerReferences");
  json_put_at(json, spec, "spec");
  return json;
}

static int
make(struct populator *populator, const struct kube_object *image, const char *name,
     struct image_claim *claim, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *json = claim_json(image, name, claim);
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_create(populator->client, &kube_persistent_volume_claims, json, &claim->claim,
                  &failure) == 0)
    return 0;
  /* a quota or a policy: it may pass, and is to be told */
  return error_set(err,
                   failure->code == ERROR_PERMISSION_DENIED ? ERROR_UNAVAILABLE : failure->code,
                   "%s", failure->message);
}

static int
find_or_make(struct populator *populator, const struct kube_object *image,
             struct image_claim *claim, struct error **err)
{
  CLEANUP(freep) char *name = image_claim_name(image);
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_get(populator->client, &kube_persistent_volume_claims, image->ns, name, &claim->claim,
               &failure) < 0) {
    if (failure->code != ERROR_NOT_FOUND)
      return error_set(err, failure->code, "%s", failure->message);
    return make(populator, image, name, claim, err);
  }
  const char *controller = kube_object_controller(claim->claim);
  if (!controller || strcmp(controller, image->uid) != 0)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "PersistentVolumeClaim '%s/%s' is there already and is not of this image",
                     image->ns, name);
  if (claim->claim->is_deleting) {
    CLEANUP(freep) char *key = populator_key(&image_controller, image->ns, image->name);
    transfers_forget(populator->transfers, key); /* which holds on to the volume */
    return error_set(err, ERROR_UNAVAILABLE,
                     "PersistentVolumeClaim '%s/%s' is still being deleted, and made anew then",
                     image->ns, name);
  }
  return quantity_of(json_at(claim->claim->json, "spec", "resources", "requests", "storage"),
                     "size of the claim", &claim->bytes, err);
}

int
image_claim_open(struct populator *populator, const struct kube_object *image,
                 uint64_t virtual_bytes, struct image_claim *ret_claim, struct error **err)
{
  struct image_claim claim = {0};
  int r = storage_class_find(populator->storage_classes, image_claim_class(image),
                             &claim.storage_class, err);
  if (r < 0)
    error_add_place(err, "spec.storageClassName");
  if (r == 0 && !storage_class_is_of(claim.storage_class, populator->driver))
    r = error_set(err, ERROR_INVALID_ARGUMENT,
                  "spec.storageClassName: StorageClass '%s' is of another driver than %s",
                  claim.storage_class->name, populator->driver);
  if (r == 0)
    r = choose_size(image, virtual_bytes, &claim.bytes, err);
  if (r == 0)
    r = find_or_make(populator, image, &claim, err);
  if (r < 0)
    image_claim_clear(&claim);
  else
    *ret_claim = claim;
  return r;
}

void
image_claim_clear(struct image_claim *claim)
{
  kube_object_release(claim->claim);
  kube_object_release(claim->storage_class);
  free(claim->origin);
  *claim = (struct image_claim){0};
}

bool
image_claim_is_begun(const struct image_claim *claim)
{
  return kube_object_annotation(claim->claim, ANNOTATION_MADE_OF) != NULL;
}

int
image_claim_volume(struct populator *populator, const struct image_claim *claim,
                   struct made_volume *ret_volume, struct error **err)
{
  CLEANUP(freep) char *name = persistent_volume_name(claim->claim);
  const struct claim_making making = {.volume = claim->origin};
  CLEANUP(kube_object_releasep) struct kube_object *limits = NULL;
  if (attributes_class_find(populator, claim->claim, &limits, err) < 0)
    return -1;
  const struct volume_order order = {.name = name,
                                     .bytes = claim->bytes,
                                     .claim = claim->claim,
                                     .storage_class = claim->storage_class,
                                     .attributes_class = limits,
                                     .volume = claim->origin};
  if (claim_making_begin(populator, claim->claim, claim->storage_class, &making, err) < 0)
    return -1;
  return volumes_create(populator->controller, &order, ret_volume, err);
}

int
image_claim_bind(struct populator *populator, const struct image_claim *claim,
                 const struct made_volume *volume, struct error **err)
{
  CLEANUP(json_object_putp)
  struct json_object *json =
      persistent_volume_json(claim->claim, claim->storage_class, populator->driver, volume);
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_create(populator->client, &kube_persistent_volumes, json, NULL, &failure) == 0 ||
      failure->code == ERROR_ALREADY_EXISTS)
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}

/* Whether its volume is a PersistentVolume's, whose reclaim policy says what becomes of it. Where
 * the claim went first, as with its namespace, the image tells: it is bound before it is Available.
 */
static int
is_handed_over(struct populator *populator, const struct kube_object *image,
               const struct kube_object *claim, bool *ret_is, struct error **err)
{
  if (claim)
    return claim_making_is_handed_over(populator, claim, ret_is, err);
  *ret_is = strcmp(condition_state(image), "Available") == 0;
  return 0;
}

int
image_claim_remove(struct populator *populator, const struct kube_object *image, const char *handle,
                   struct error **err)
{
  CLEANUP(freep) char *name = image_claim_name(image);
  CLEANUP(kube_object_releasep) struct kube_object *claim = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  bool is_over;
  if (kube_get(populator->client, &kube_persistent_volume_claims, image->ns, name, &claim,
               &failure) < 0 &&
      failure->code != ERROR_NOT_FOUND)
    return error_set(err, failure->code, "%s", failure->message);
  const char *controller = claim ? kube_object_controller(claim) : NULL;
  bool is_ours = controller && strcmp(controller, image->uid) == 0;
  if (is_handed_over(populator, image, is_ours ? claim : NULL, &is_over, err) < 0)
    return -1;
  if (handle && !is_over && volumes_delete(populator->controller, handle, err) < 0)
    return -1;
  return is_ours ? kube_delete(populator->client, &kube_persistent_volume_claims, claim, err) : 0;
}
