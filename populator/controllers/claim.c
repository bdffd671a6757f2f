/* SPDX-License-Identifier: Apache-2.0 */
/* PersistentVolumeClaims whose dataSourceRef is of ours: a clone is made and bound to the claim, by
 * a PersistentVolume that says for whom it is. There is no second claim, no pod and no copy. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/attributes_class.h"
#include "populator/controllers/claim_making.h"
#include "populator/controllers/claim_wait.h"
#include "populator/controllers/origin.h"
#include "populator/objects/persistent_volume.h"
#include "populator/objects/quantity.h"
#include "populator/objects/storage_class.h"
#include "populator/work/volumes.h"

/* Something it waits for may change without our being told. */
#define LOOK_AGAIN_MS 60000

static bool
is_bound(const struct kube_object *claim)
{
  const char *volume = json_text(claim->json, "spec", "volumeName");
  return volume && *volume;
}

/* Kubernetes writes the volume's name first and the phase after it; who writes in between makes it
 * try again. */
static bool
is_being_bound(const struct kube_object *claim)
{
  const char *phase = json_text(claim->json, "status", "phase");
  return !phase || strcmp(phase, "Pending") == 0;
}

static int
size_of(const struct kube_object *claim, const struct origin *origin, uint64_t *ret_bytes,
        struct error **err)
{
  if (quantity_of(json_at(claim->json, "spec", "resources", "requests", "storage"),
                  "spec.resources.requests.storage", ret_bytes, err) < 0)
    return -1;
  char asked[QUANTITY_TEXT_BYTES];
  char needed[QUANTITY_TEXT_BYTES];
  if (*ret_bytes < origin->bytes)
    return error_set(
        err, ERROR_FAILED_PRECONDITION, "spec.resources.requests.storage is %s, %s needs %s",
        quantity_text(*ret_bytes, asked), origin->text, quantity_text(origin->bytes, needed));
  return 0;
}

/* ---- making it --------------------------------------------------------------------------------
 */

static int
write_persistent_volume(struct populator *populator, const struct kube_object *claim,
                        const struct kube_object *storage_class, const struct made_volume *volume,
                        struct error **err)
{
  CLEANUP(json_object_putp)
  struct json_object *json =
      persistent_volume_json(claim, storage_class, populator->driver, volume);
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_create(populator->client, &kube_persistent_volumes, json, NULL, &failure) == 0 ||
      failure->code == ERROR_ALREADY_EXISTS)
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}

/* Ceph is full, say, or away. It is tried again by itself, but whoever waits for it has to see why.
 * What can never be is told by whoever asked. */
static void
tell_refusal(struct populator *populator, const struct kube_object *claim,
             const struct error *failure)
{
  switch (failure->code) {
  case ERROR_ABORTED: /* busy: it comes */
  case ERROR_CANCELLED:
  case ERROR_FAILED_PRECONDITION:
  case ERROR_INVALID_ARGUMENT:
    return;
  default:
    kube_event_tell(populator->events, &kube_persistent_volume_claims, claim, KUBE_EVENT_WARNING,
                    "VolumeNotMade", "%s", failure->message);
  }
}

static int
make(struct populator *populator, const struct kube_object *claim,
     const struct kube_object *storage_class, const struct origin *origin, struct error **err)
{
  CLEANUP(freep) char *name = persistent_volume_name(claim);
  struct volume_order order = {.name = name,
                               .claim = claim,
                               .storage_class = storage_class,
                               .snapshot = origin->snapshot,
                               .volume = origin->volume};
  CLEANUP(freep) char *link = origin->link.kind ? source_link_text(&origin->link) : NULL;
  const struct claim_making making = {origin->snapshot, origin->volume, link};
  CLEANUP(kube_object_releasep) struct kube_object *limits = NULL;
  if (size_of(claim, origin, &order.bytes, err) < 0 ||
      attributes_class_find(populator, claim, &limits, err) < 0 ||
      claim_making_begin(populator, claim, storage_class, &making, err) < 0)
    return -1;
  struct made_volume volume;
  CLEANUP(error_freep) struct error *failure = NULL;
  order.attributes_class = limits;
  if (volumes_create(populator->controller, &order, &volume, &failure) < 0) {
    tell_refusal(populator, claim, failure);
    return error_set(err, failure->code, "%s", failure->message);
  }
  int r = write_persistent_volume(populator, claim, storage_class, &volume, err);
  made_volume_clear(&volume);
  if (r == 0)
    (void)recent_add(populator->handed_over, claim->uid);
  return r;
}

static const char *
reason_of(enum error_code code)
{
  switch (code) {
  case ERROR_UNAVAILABLE:
    return "WaitingForImage";
  case ERROR_PERMISSION_DENIED:
    return "ReferenceGrantMissing";
  default:
    return "CannotPopulate";
  }
}

/* What the claim waits for is told on it; a change of that calls us again. */
static int64_t
tell_waiting(struct populator *populator, const struct kube_object *claim,
             const struct error *failure)
{
  bool is_normal = failure->code == ERROR_UNAVAILABLE;
  kube_event_tell(populator->events, &kube_persistent_volume_claims, claim,
                  is_normal ? KUBE_EVENT_NORMAL : KUBE_EVENT_WARNING, reason_of(failure->code),
                  "%s", failure->message);
  return LOOK_AGAIN_MS;
}

/* Nobody else fills a claim from our images; of what others know as well we say nothing. */
static void
tell_foreign_class(struct populator *populator, const struct kube_object *claim,
                   const struct kube_object *storage_class)
{
  if (origin_is_image(claim))
    kube_event_tell(populator->events, &kube_persistent_volume_claims, claim, KUBE_EVENT_WARNING,
                    "CannotPopulate",
                    "spec.storageClassName: StorageClass '%s' is of another driver than %s, which "
                    "the image is of",
                    storage_class->name, populator->driver);
}

static int
populate(struct populator *populator, const struct kube_object *claim, int64_t *ret_again_ms,
         struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *storage_class = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  struct origin origin = {0};
  if (storage_class_find(populator->storage_classes,
                         json_text(claim->json, "spec", "storageClassName"), &storage_class,
                         &failure) < 0) {
    error_add_place(&failure, "spec.storageClassName");
    *ret_again_ms = tell_waiting(populator, claim, failure);
    return 0;
  }
  if (!storage_class_is_of(storage_class, populator->driver)) {
    tell_foreign_class(populator, claim, storage_class);
    return 0;
  }
  if (!claim_may_be_placed(claim, storage_class))
    return 0;
  if (origin_find(populator, claim, &origin, &failure) < 0) {
    *ret_again_ms = tell_waiting(populator, claim, failure);
    return 0;
  }
  int r = make(populator, claim, storage_class, &origin, &failure);
  origin_clear(&origin);
  if (r == 0)
    return 0;
  if (failure->code == ERROR_FAILED_PRECONDITION || failure->code == ERROR_INVALID_ARGUMENT) {
    *ret_again_ms = tell_waiting(populator, claim, failure);
    return 0;
  }
  return error_set(err, failure->code, "%s", failure->message);
}

/* ---- the whole --------------------------------------------------------------------------------
 */

/* It has no volume yet. */
static int
fill(struct populator *populator, const struct kube_object *claim, int64_t *ret_again_ms,
     struct error **err)
{
  int64_t left_ms = recent_left_ms(populator->handed_over, claim->uid);
  if (origin_is_owners_business(populator, claim))
    return 0;
  if (left_ms == 0)
    return populate(populator, claim, ret_again_ms, err);
  *ret_again_ms = left_ms; /* it is Kubernetes' turn */
  return 0;
}

/* It has a volume that somebody else made: ours is not needed. What an image imports into is the
 * image's to remove. */
static int
see_to_foreign(struct populator *populator, const struct kube_object *claim, struct error **err)
{
  CLEANUP(freep) char *own = persistent_volume_name(claim);
  const char *bound = json_text(claim->json, "spec", "volumeName");
  bool is_images = origin_is_image(claim) && origin_is_owners_business(populator, claim);
  if (is_images || !bound || strcmp(bound, own) == 0)
    return 0;
  return claim_making_take_back(populator, claim, err);
}

/* It goes; its volume too, if nobody else knows of that. */
static int
let_go(struct populator *populator, const struct kube_object *claim, struct error **err)
{
  int r = is_bound(claim) ? see_to_foreign(populator, claim, err)
                          : claim_making_take_back(populator, claim, err);
  if (r < 0)
    return -1;
  return kube_remove_finalizer(populator->client, &kube_persistent_volume_claims, claim,
                               FINALIZER_CLAIM, err);
}

/* It has its volume. What is left to be said and done can wait: others may still be waiting for
 * theirs. */
static int
complete(struct populator *populator, const struct kube_object *claim, int64_t *ret_again_ms,
         struct error **err)
{
  int64_t left_ms = recent_left_ms(populator->handed_over, claim->uid);
  if (is_being_bound(claim))
    return 0;
  if (left_ms > 0) {
    *ret_again_ms = left_ms;
    return 0;
  }
  if (see_to_foreign(populator, claim, err) < 0)
    return -1;
  CLEANUP(freep) char *origin = origin_text(populator, claim);
  if (!origin_is_owners_business(populator, claim))
    kube_event_tell(populator->events, &kube_persistent_volume_claims, claim, KUBE_EVENT_NORMAL,
                    "Populated", "cloned from %s", origin);
  return kube_remove_finalizer(populator->client, &kube_persistent_volume_claims, claim,
                               FINALIZER_CLAIM, err);
}

static int
reconcile(struct populator *populator, const struct kube_object *claim, int64_t *ret_again_ms,
          struct error **err)
{
  if (!origin_is_ours(claim))
    return 0;
  if (!claim->is_deleting && !is_bound(claim))
    return fill(populator, claim, ret_again_ms, err);
  if (!kube_object_has_finalizer(claim, FINALIZER_CLAIM))
    return 0;
  return claim->is_deleting ? let_go(populator, claim, err)
                            : complete(populator, claim, ret_again_ms, err);
}

const struct controller claim_controller = {
    .name = "claim",
    .kind = &kube_persistent_volume_claims,
    .reconcile = reconcile,
};

/* ---- who calls it -----------------------------------------------------------------------------
 */

/* Whoever made the claim wants to know how it fares. */
static void
wake_owner(struct populator *populator, const struct kube_object *claim)
{
  static const struct controller *const owners[] = {&image_controller, &volume_controller,
                                                    &pvc_controller};
  struct json_object *references = json_at(claim->json, "metadata", "ownerReferences");
  for (size_t i = 0; i < json_count(references); i++) {
    const char *kind = json_text(json_item(references, i), "kind");
    const char *name = json_text(json_item(references, i), "name");
    for (size_t j = 0; kind && name && j < sizeof(owners) / sizeof(owners[0]); j++) {
      if (strcmp(owners[j]->kind->kind, kind) == 0)
        populator_wake(populator, owners[j], claim->ns, name);
    }
  }
}

/* A DataVolume may have taken a claim that somebody else filled, without owning it. */
static void
wake_namesake(struct populator *populator, const struct kube_object *claim)
{
  CLEANUP(kube_object_releasep)
  struct kube_object *volume = kube_mirror_get(populator->data_volumes, claim->ns, claim->name);
  if (volume)
    populator_wake(populator, &data_volume_controller, claim->ns, claim->name);
}

void
claim_changed(void *context, const struct kube_object *before, const struct kube_object *after)
{
  struct populator *populator = context;
  const struct kube_object *claim = after ? after : before;
  wake_owner(populator, claim);
  wake_namesake(populator, claim);
  data_source_target_changed(populator, &kube_persistent_volume_claims, claim);
  data_import_cron_import_changed(populator, claim);
  if (after && origin_is_ours(after))
    populator_wake(populator, &claim_controller, after->ns, after->name);
}

void
surroundings_changed(void *context, const struct kube_object *before,
                     const struct kube_object *after)
{
  struct populator *populator = context;
  (void)before;
  (void)after;
  CLEANUP(kube_objects_freep)
  struct kube_object **claims = kube_mirror_all(populator->claims, NULL);
  for (size_t i = 0; claims[i]; i++) {
    if (!is_bound(claims[i]) && origin_is_ours(claims[i]))
      populator_wake(populator, &claim_controller, claims[i]->ns, claims[i]->name);
  }
}

void
claim_origin_changed(struct populator *populator, const struct kube_kind *kind,
                     const struct kube_object *object)
{
  CLEANUP(kube_objects_freep)
  struct kube_object **claims = kube_mirror_all(populator->claims, NULL);
  for (size_t i = 0; claims[i]; i++) {
    if (!is_bound(claims[i]) && origin_names(claims[i], kind, object->ns, object->name))
      populator_wake(populator, &claim_controller, claims[i]->ns, claims[i]->name);
  }
}
