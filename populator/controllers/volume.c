/* SPDX-License-Identifier: Apache-2.0 */
/* VirtualMachineVolume and VirtualMachinePvc: a claim that is filled from an image. The claim's own
 * controller does the work; here it is made, and its fate is told in the status. The two kinds
 * differ in the name of the claim only. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/claim_wait.h"
#include "populator/controllers/image_claim.h"
#include "populator/controllers/origin.h"
#include "populator/objects/condition.h"
#include "populator/objects/quantity.h"
#include "populator/objects/storage_class.h"
#include "populator/objects/volume_spec.h"

#define LOOK_AGAIN_MS 60000
/* What the claim waits for, a grant say, may change without our being told. */
#define CLAIM_AGAIN_MS 10000

static int
write_status(struct populator *populator, const struct kube_object *volume,
             const struct verdict *verdict, struct error **err)
{
  CLEANUP(freep) char *name = volume_spec_claim(volume);
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, volume->ns, name);
  const char *size = claim ? json_text(claim->json, "status", "capacity", "storage") : NULL;
  struct json_object *status = condition_status(volume, verdict);
  json_put_text(status, name, "pvcName");
  if (volume_spec_image(volume))
    json_put_text(status, volume_spec_image(volume), "source");
  if (size && verdict->is_ready) {
    json_put_text(status, size, "size");
    json_put_text(status, "100.0%", "progress"); /* a clone is complete when it is made */
  }
  return kube_patch_status(populator->client, volume_spec_kind(volume), volume, status, err);
}

static int
write_pending(struct populator *populator, const struct kube_object *volume, const char *message,
              struct error **err)
{
  const struct verdict verdict = {
      .state = "Pending", .reason = "VmVolumeIsInPending", .message = message};
  kube_event_tell(populator->events, volume_spec_kind(volume), volume, KUBE_EVENT_NORMAL,
                  verdict.reason, "%s", message);
  return write_status(populator, volume, &verdict, err);
}

static int
write_error(struct populator *populator, const struct kube_object *volume, const char *message,
            struct error **err)
{
  const struct verdict verdict = {
      .state = "Error", .reason = "VmVolumeIsInError", .message = message};
  kube_event_tell(populator->events, volume_spec_kind(volume), volume, KUBE_EVENT_WARNING,
                  "VmVolumeIsInError", "%s", message);
  return write_status(populator, volume, &verdict, err);
}

/* ---- the claim --------------------------------------------------------------------------------
 */

/* spec.pvc.resources.requests.storage, or spec.capacity.storage. */
static struct json_object *
asked_size(const struct kube_object *volume, const char **ret_field)
{
  struct json_object *asked =
      json_at(volume->json, "spec", "pvc", "resources", "requests", "storage");
  *ret_field = asked ? "spec.pvc.resources.requests.storage" : "spec.capacity.storage";
  return asked ? asked : json_at(volume->json, "spec", "capacity", "storage");
}

/* Left out, it is as large as the image. A size that the image does not fit is an error with both
 * in it. */
static int
choose_size(const struct kube_object *volume, const struct kube_object *image, uint64_t *ret_bytes,
            struct error **err)
{
  const char *field;
  struct json_object *asked = asked_size(volume, &field);
  uint64_t image_bytes;
  if (quantity_of(asked, field, ret_bytes, err) < 0 ||
      quantity_of(json_at(image->json, "status", "size"), "status.size of the image", &image_bytes,
                  err) < 0)
    return -1;
  if (*ret_bytes == 0)
    *ret_bytes = image_bytes;
  char small[QUANTITY_TEXT_BYTES];
  char large[QUANTITY_TEXT_BYTES];
  if (*ret_bytes < image_bytes)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s is %s, the image '%s/%s' needs %s", field,
                     quantity_text(*ret_bytes, small), image->ns, image->name,
                     quantity_text(image_bytes, large));
  return 0;
}

static struct json_object *
modes_of(const struct kube_object *volume)
{
  struct json_object *given = json_at(volume->json, "spec", "pvc", "accessModes");
  if (json_count(given))
    return json_copy(given);
  struct json_object *list = json_object_new_array();
  json_object_array_add(list, json_object_new_string("ReadWriteOnce"));
  return list;
}

/* The class of the image's own claim, unless another one is asked for. */
static const char *
class_of(const struct kube_object *volume, const struct kube_object *image)
{
  const char *name = storage_class_asked(json_at(volume->json, "spec", "pvc"));
  return name ? name : image_claim_class(image);
}

/* A claim of another class would wait forever. */
static int
check_class(struct populator *populator, const char *name, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *storage_class = NULL;
  if (storage_class_find(populator->storage_classes, name, &storage_class, err) < 0)
    return error_wrap(err, "spec.pvc.storageClassName");
  if (storage_class_is_of(storage_class, populator->driver))
    return 0;
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "spec.pvc.storageClassName: StorageClass '%s' is of another driver than %s",
                   storage_class->name, populator->driver);
}

/* Its source is the volume itself, by which the image is found: a reference to another namespace is
 * dropped by an API server that does not have that feature switched on, and the claim is filled
 * with nothing then. */
static struct json_object *
claim_json(const struct kube_object *volume, const struct kube_object *image, uint64_t bytes)
{
  CLEANUP(freep) char *name = volume_spec_claim(volume);
  char size[QUANTITY_TEXT_BYTES];
  const char *mode = json_text(volume->json, "spec", "pvc", "volumeMode");
  const char *limits = json_text(volume->json, "spec", "pvc", "volumeAttributesClassName");
  const char *class_name = class_of(volume, image);
  struct json_object *spec = json_object_new_object();
  json_put_at(spec, modes_of(volume), "accessModes");
  json_put_text(spec, mode ? mode : "Block", "volumeMode");
  if (class_name)
    json_put_text(spec, class_name, "storageClassName");
  if (limits)
    json_put_text(spec, limits, "volumeAttributesClassName");
  json_put_text(spec, quantity_text(bytes, size), "resources", "requests", "storage");
  json_put_text(spec, volume_spec_kind(volume)->group, "dataSourceRef", "apiGroup");
  json_put_text(spec, volume_spec_kind(volume)->kind, "dataSourceRef", "kind");
  json_put_text(spec, volume->name, "dataSourceRef", "name");
  struct json_object *json = json_object_new_object();
  json_put_text(json, volume->ns, "metadata", "namespace");
  json_put_text(json, name, "metadata", "name");
  json_put_at(json, kube_object_owner_references(volume, volume_spec_kind(volume)), "metadata",
              "ownerReferences");
  json_put_at(json, spec, "spec");
  return json;
}

static int
make_claim(struct populator *populator, const struct kube_object *volume, struct error **err)
{
  CLEANUP(kube_object_releasep)
  struct kube_object *image = kube_mirror_get(
      populator->images, volume_spec_image_namespace(volume), volume_spec_image(volume));
  if (!image || strcmp(condition_state(image), "Available") != 0) {
    CLEANUP(freep)
    char *message =
        xasprintf("waits for VirtualMachineImage '%s/%s'%s%s", volume_spec_image_namespace(volume),
                  volume_spec_image(volume), image ? ", which is " : ": there is none",
                  image ? (*condition_state(image) ? condition_state(image) : "new") : "");
    return write_pending(populator, volume, message, err);
  }
  uint64_t bytes;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (choose_size(volume, image, &bytes, &failure) < 0 ||
      check_class(populator, class_of(volume, image), &failure) < 0)
    return write_error(populator, volume, failure->message, err);
  CLEANUP(json_object_putp) struct json_object *json = claim_json(volume, image, bytes);
  if (kube_create(populator->client, &kube_persistent_volume_claims, json, NULL, &failure) < 0 &&
      failure->code != ERROR_ALREADY_EXISTS) {
    if (failure->code == ERROR_INVALID_ARGUMENT || failure->code == ERROR_PERMISSION_DENIED)
      return write_error(populator, volume, failure->message, err);
    return error_set(err, failure->code, "%s", failure->message);
  }
  const struct verdict verdict = {
      .state = "Creating", .reason = "CreatingPVC", .message = "the claim is being filled"};
  return write_status(populator, volume, &verdict, err);
}

/* ---- the whole --------------------------------------------------------------------------------
 */

/* Whether what is in the claim comes from the image: without its dataSourceRef it is an empty disk.
 * Claims of other operators, who told of them then, are left alone. */
static bool
is_filled(const struct kube_object *volume, const struct kube_object *claim)
{
  const char *image_ns = volume_spec_image_namespace(volume);
  if (origin_names(claim, volume_spec_kind(volume), volume->ns, volume->name) ||
      origin_names(claim, &virtual_machine_images, image_ns, volume_spec_image(volume)))
    return true;
  return strcmp(condition_state(volume), "Available") == 0 &&
         json_at(claim->json, "spec", "dataSource");
}

/* Who owns it does not tell us when it goes. */
static int
tell_foreign_claim(struct populator *populator, const struct kube_object *volume,
                   const struct kube_object *claim, int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(freep)
  char *message = xasprintf(
      "metadata.name: PersistentVolumeClaim '%s/%s', which it would make, is there already "
      "and is not of this %s: delete that claim, or choose another name",
      claim->ns, claim->name, volume_spec_kind(volume)->kind);
  *ret_again_ms = CLAIM_AGAIN_MS;
  return write_error(populator, volume, message, err);
}

/* A size that was raised later is handed on to the claim, which Kubernetes grows. *ret_trouble is
 * to be freed: why it was refused. A claim that others made larger stays so. */
static int
grow(struct populator *populator, const struct kube_object *volume, const struct kube_object *claim,
     char **ret_trouble, struct error **err)
{
  const char *field;
  uint64_t wanted;
  uint64_t present;
  char size[QUANTITY_TEXT_BYTES];
  struct json_object *asked = asked_size(volume, &field);
  if (quantity_of(asked, field, &wanted, err) < 0 ||
      quantity_of(json_at(claim->json, "spec", "resources", "requests", "storage"), "its claim's",
                  &present, err) < 0)
    return -1;
  if (wanted <= present)
    return 0;
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  CLEANUP(error_freep) struct error *failure = NULL;
  json_put_text(patch, quantity_text(wanted, size), "spec", "resources", "requests", "storage");
  if (kube_patch(populator->client, &kube_persistent_volume_claims, claim, NULL, patch, &failure) ==
      0)
    return 0;
  if (failure->code != ERROR_PERMISSION_DENIED && failure->code != ERROR_INVALID_ARGUMENT)
    return error_set(err, failure->code, "%s", failure->message);
  *ret_trouble = xasprintf("%s: it cannot grow to %s: %s", field, size, failure->message);
  return 0;
}

static int
tell_available(struct populator *populator, const struct kube_object *volume,
               const struct kube_object *claim, struct error **err)
{
  CLEANUP(freep) char *trouble = NULL;
  if (grow(populator, volume, claim, &trouble, err) < 0)
    return -1;
  const struct verdict verdict = {.state = "Available",
                                  .reason = "SuccessfulCreate",
                                  .message = trouble ? trouble : "",
                                  .is_ready = true};
  if (trouble)
    kube_event_tell(populator->events, volume_spec_kind(volume), volume, KUBE_EVENT_WARNING,
                    "CannotGrow", "%s", trouble);
  return write_status(populator, volume, &verdict, err);
}

static int
tell_fate(struct populator *populator, const struct kube_object *volume,
          const struct kube_object *claim, int64_t *ret_again_ms, struct error **err)
{
  const char *controller = kube_object_controller(claim);
  if (!controller || strcmp(controller, volume->uid) != 0)
    return tell_foreign_claim(populator, volume, claim, ret_again_ms, err);
  if (!is_filled(volume, claim)) {
    CLEANUP(freep)
    char *message = xasprintf("PersistentVolumeClaim '%s/%s' has no dataSourceRef to this, so its "
                              "volume is not a clone of the image: delete the claim, it is made "
                              "anew then",
                              claim->ns, claim->name);
    return write_error(populator, volume, message, err);
  }
  const char *phase = json_text(claim->json, "status", "phase");
  if (phase && strcmp(phase, "Bound") == 0)
    return tell_available(populator, volume, claim, err);
  if (phase && strcmp(phase, "Lost") == 0)
    return write_error(populator, volume, "the claim has lost its volume", err);
  CLEANUP(freep) char *message = claim_wait_text(populator, claim);
  const struct verdict verdict = {.state = "Creating", .reason = "CreatingPVC", .message = message};
  *ret_again_ms = CLAIM_AGAIN_MS;
  return write_status(populator, volume, &verdict, err);
}

static int
reconcile(struct populator *populator, const struct kube_object *volume, int64_t *ret_again_ms,
          struct error **err)
{
  if (volume->is_deleting)
    return 0; /* the claim goes with its owner */
  if (!volume_spec_image(volume))
    return write_error(populator, volume,
                       "spec.virtualMachineImageName, or spec.virtualMachineImage.name, is needed",
                       err);
  CLEANUP(freep) char *name = volume_spec_claim(volume);
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, volume->ns, name);
  if (claim)
    return tell_fate(populator, volume, claim, ret_again_ms, err);
  *ret_again_ms = LOOK_AGAIN_MS;
  return make_claim(populator, volume, err);
}

const struct controller volume_controller = {
    .name = "volume", .kind = &virtual_machine_volumes, .reconcile = reconcile};
const struct controller pvc_controller = {
    .name = "pvc", .kind = &virtual_machine_pvcs, .reconcile = reconcile};

void
volume_changed(void *context, const struct kube_object *before, const struct kube_object *after)
{
  (void)before;
  if (after)
    populator_wake(context, &volume_controller, after->ns, after->name);
}

void
pvc_changed(void *context, const struct kube_object *before, const struct kube_object *after)
{
  (void)before;
  if (after)
    populator_wake(context, &pvc_controller, after->ns, after->name);
}

static void
wake_users(struct populator *populator, struct kube_mirror *mirror,
           const struct controller *controller, const struct kube_object *image)
{
  CLEANUP(kube_objects_freep) struct kube_object **all = kube_mirror_all(mirror, NULL);
  for (size_t i = 0; all[i]; i++) {
    const char *name = volume_spec_image(all[i]);
    if (!name || strcmp(name, image->name) != 0 ||
        strcmp(volume_spec_image_namespace(all[i]), image->ns) != 0)
      continue;
    CLEANUP(freep) char *claim = volume_spec_claim(all[i]);
    populator_wake(populator, controller, all[i]->ns, all[i]->name);
    populator_wake(populator, &claim_controller, all[i]->ns, claim);
  }
}

void
volume_image_changed(struct populator *populator, const struct kube_object *image)
{
  wake_users(populator, populator->volumes, &volume_controller, image);
  wake_users(populator, populator->pvcs, &pvc_controller, image);
}
