/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/claim_making.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/objects/persistent_volume.h"
#include "populator/objects/quantity.h"
#include "populator/objects/storage_class.h"
#include "populator/work/volumes.h"

#define OF_SNAPSHOT "snapshot:"
#define OF_VOLUME "volume:"
#define OF_NOTHING "nothing"

static char *
note_of(const struct claim_making *making)
{
  if (making->snapshot)
    return xasprintf(OF_SNAPSHOT "%s", making->snapshot);
  return making->volume ? xasprintf(OF_VOLUME "%s", making->volume) : xstrdup(OF_NOTHING);
}

/* ---- removing it ------------------------------------------------------------------------------
 */

/* Asking for the volume once more, just as before, tells which it is; where its source is gone,
 * none is made instead, and *ret_handle stays NULL. To be freed. */
static int
find_noted(struct populator *populator, const struct kube_object *claim,
           const struct kube_object *storage_class, char **ret_handle, struct error **err)
{
  const char *note = kube_object_annotation(claim, ANNOTATION_MADE_OF);
  CLEANUP(freep) char *name = persistent_volume_name(claim);
  CLEANUP(error_freep) struct error *failure = NULL;
  struct made_volume volume = {0};
  struct volume_order order = {.name = name, .claim = claim, .storage_class = storage_class};
  if (!note)
    return 0;
  if (text_starts_with(note, OF_SNAPSHOT))
    order.snapshot = note + strlen(OF_SNAPSHOT);
  else if (text_starts_with(note, OF_VOLUME))
    order.volume = note + strlen(OF_VOLUME);
  if (quantity_of(json_at(claim->json, "spec", "resources", "requests", "storage"),
                  "spec.resources.requests.storage", &order.bytes, err) < 0)
    return -1;
  if (volumes_create(populator->controller, &order, &volume, &failure) < 0) {
    bool is_never_made = failure->code == ERROR_NOT_FOUND ||
                         failure->code == ERROR_INVALID_ARGUMENT ||
                         failure->code == ERROR_OUT_OF_RANGE;
    return is_never_made ? 0 : error_set(err, failure->code, "%s", failure->message);
  }
  *ret_handle = TAKE(volume.handle);
  made_volume_clear(&volume);
  return 0;
}

static int
remove_noted(struct populator *populator, const struct kube_object *claim,
             const struct kube_object *storage_class, struct error **err)
{
  CLEANUP(freep) char *handle = NULL;
  if (find_noted(populator, claim, storage_class, &handle, err) < 0)
    return -1;
  return handle ? volumes_delete(populator->controller, handle, err) : 0;
}

int
claim_making_is_handed_over(struct populator *populator, const struct kube_object *claim,
                            bool *ret_is, struct error **err)
{
  CLEANUP(freep) char *name = persistent_volume_name(claim);
  CLEANUP(kube_object_releasep) struct kube_object *volume = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  *ret_is =
      kube_get(populator->client, &kube_persistent_volumes, NULL, name, &volume, &failure) == 0;
  if (*ret_is || failure->code == ERROR_NOT_FOUND)
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}

int
claim_making_take_back(struct populator *populator, const struct kube_object *claim,
                       struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *storage_class = NULL;
  CLEANUP(error_freep) struct error *missing = NULL;
  bool is_over;
  if (claim_making_is_handed_over(populator, claim, &is_over, err) < 0)
    return -1;
  if (is_over)
    return 0; /* whoever looks after it will remove it */
  if (storage_class_find(populator->storage_classes,
                         json_text(claim->json, "spec", "storageClassName"), &storage_class,
                         &missing) == 0)
    return remove_noted(populator, claim, storage_class, err);
  kube_event_tell(populator->events, &kube_persistent_volume_claims, claim, KUBE_EVENT_WARNING,
                  "CannotTakeBack",
                  "%s: make it again, for only it tells where the volume of this claim lies",
                  missing->message);
  return error_set(err, missing->code, "%s", missing->message);
}

/* ---- before it is made ------------------------------------------------------------------------
 */

static int
write_note(struct populator *populator, const struct kube_object *claim,
           const struct claim_making *making, const char *note, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  json_put_text(patch, note, "metadata", "annotations", ANNOTATION_MADE_OF);
  if (making->link) { /* another populator may have chosen something else just now */
    json_put_text(patch, making->link, "metadata", "annotations", ANNOTATION_CLONED_FROM);
    json_put_text(patch, claim->version, "metadata", "resourceVersion");
  }
  if (!kube_object_has_finalizer(claim, FINALIZER_CLAIM)) {
    struct json_object *finalizers = json_object_new_array();
    json_object_array_add(finalizers, json_object_new_string(FINALIZER_CLAIM));
    json_put_at(patch, finalizers, "metadata", "finalizers");
  }
  return kube_patch_built_in(populator->client, &kube_persistent_volume_claims, claim, patch, err);
}

/* It is to be made of something else now. Whether it was made of what was noted is found out; but
 * it is not removed, since another populator may be binding it just now. */
static int
check_change(struct populator *populator, const struct kube_object *claim,
             const struct kube_object *storage_class, struct error **err)
{
  CLEANUP(freep) char *handle = NULL;
  if (find_noted(populator, claim, storage_class, &handle, err) < 0)
    return -1;
  if (!handle)
    return 0;
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "its volume was made of what is not its source any more: delete the claim and "
                   "make it anew");
}

int
claim_making_begin(struct populator *populator, const struct kube_object *claim,
                   const struct kube_object *storage_class, const struct claim_making *making,
                   struct error **err)
{
  CLEANUP(freep) char *note = note_of(making);
  const char *before = kube_object_annotation(claim, ANNOTATION_MADE_OF);
  bool is_begun = kube_object_has_finalizer(claim, FINALIZER_CLAIM);
  bool is_same = before && strcmp(before, note) == 0;
  if (is_begun && is_same)
    return 0;
  if (is_begun && check_change(populator, claim, storage_class, err) < 0)
    return -1;
  return write_note(populator, claim, making, note, err);
}
