/* SPDX-License-Identifier: Apache-2.0 */
/* DataVolume: a claim of the same name, and what it is filled from. Imports are done here
 * (data_volume_import), of what is sent to us too (data_volume_upload), clones by the controller of
 * claims, blank volumes by the provisioner; the DataVolume tells how far it is. */
#include <assert.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/kube/kube_time.h"
#include "populator/controllers/clone_choice.h"
#include "populator/controllers/clone_source.h"
#include "populator/controllers/cron_imports.h"
#include "populator/controllers/data_volume_again.h"
#include "populator/controllers/data_volume_claim.h"
#include "populator/controllers/data_volume_import.h"
#include "populator/controllers/data_volume_status.h"
#include "populator/controllers/data_volume_upload.h"
#include "populator/controllers/origin.h"
#include "populator/objects/image_labels.h"
#include "populator/objects/persistent_volume.h"
#include "populator/objects/retry.h"

#define WAITING_MS 10000
/* A clone that takes longer is waiting for something. */
#define CLONE_S 5
#define ANNOTATION_PREPOPULATED "cdi.kubevirt.io/storage.prePopulated"
#define ANNOTATION_POPULATED_FOR "cdi.kubevirt.io/storage.populatedFor"
#define ANNOTATION_ADOPTION "cdi.kubevirt.io/allowClaimAdoption"

static int
tell(struct populator *populator, const struct kube_object *volume, const struct kube_object *claim,
     const char *phase, const char *message, struct error **err)
{
  const struct data_volume_state state = {.phase = phase, .message = message, .percent = -1};
  return data_volume_status_write(populator, volume, claim, &state, err);
}

/* ---- without a claim --------------------------------------------------------------------------
 */

/* Of what it is to be a clone: chosen here, once, so that size and content are of one source. */
static int
prepare_clone(struct populator *populator, const struct kube_object *volume, struct error **err)
{
  CLEANUP(source_link_clear) struct source_link link = {0};
  CLEANUP(clone_source_clear) struct clone_source source = {0};
  CLEANUP(json_object_putp) struct json_object *labels = json_object_new_object();
  if (clone_choice_make(populator, volume, &link, err) < 0 ||
      clone_source_find(populator, &link, &source, err) < 0)
    return -1;
  bool is_claim = link.kind == &kube_persistent_volume_claims;
  CLEANUP(kube_object_releasep)
  struct kube_object *cloned =
      kube_mirror_get(is_claim ? populator->claims : populator->snapshots, link.ns, link.name);
  if (cloned)
    (void)image_labels_copy(cloned, labels); /* no others: they say whose the source is */
  const struct data_volume_content content = {
      .bytes = source.bytes,
      .labels = labels,
      .link = &link,
      .mode = source.mode,
      .source = is_claim ? cloned : NULL,
  };
  return data_volume_claim_make(populator, volume, &content, err);
}

static int
prepare(struct populator *populator, const struct kube_object *volume, int64_t *ret_again_ms,
        struct error **err)
{
  const struct data_volume_content nothing = {0};
  enum data_volume_kind kind = data_volume_spec_kind(volume);
  int64_t wait_ms = retry_wait_ms(volume);
  if (kind == DATA_VOLUME_IMPORT)
    return data_volume_import_prepare(populator, volume, ret_again_ms, err);
  if (wait_ms > 0) {
    *ret_again_ms = wait_ms;
    return 0;
  }
  return kind == DATA_VOLUME_CLONE ? prepare_clone(populator, volume, err)
                                   : data_volume_claim_make(populator, volume, &nothing, err);
}

/* Some things may come, others never. What else there is, Ceph that is full, say, is told as well,
 * and tried again after longer and longer. */
static int
tell_problem(struct populator *populator, const struct kube_object *volume,
             const struct kube_object *claim, const struct error *problem, int64_t *ret_again_ms,
             struct error **err)
{
  bool is_final = problem->code == ERROR_INVALID_ARGUMENT ||
                  problem->code == ERROR_FAILED_PRECONDITION || problem->code == ERROR_OUT_OF_RANGE;
  if (problem->code == ERROR_ABORTED || problem->code == ERROR_CANCELLED)
    return error_set(err, problem->code, "%s", problem->message);
  kube_event_tell(populator->events, &data_volumes, volume, KUBE_EVENT_WARNING,
                  is_final ? "Failed" : "Waiting", "%s", problem->message);
  if (is_final)
    data_volume_import_forget(populator, volume);
  else
    *ret_again_ms = WAITING_MS;
  if (is_final && data_volume_upload_end(populator, volume, err) < 0)
    return -1;
  if (tell(populator, volume, claim, is_final ? "Failed" : "Pending", problem->message, err) < 0)
    return -1;
  bool is_known = problem->code == ERROR_UNAVAILABLE || problem->code == ERROR_PERMISSION_DENIED;
  return is_final || is_known ? 0 : error_set(err, problem->code, "%s", problem->message);
}

/* ---- with one ---------------------------------------------------------------------------------
 */

static int
succeed(struct populator *populator, const struct kube_object *volume,
        const struct kube_object *claim, struct error **err)
{
  data_volume_import_forget(populator, volume);
  if (data_volume_upload_end(populator, volume, err) < 0)
    return -1;
  struct json_object *more = json_object_new_object();
  retry_clear(volume, more);
  const struct data_volume_state state = {
      .phase = "Succeeded", .message = "the volume is complete", .percent = -1, .more = more};
  return data_volume_status_write(populator, volume, claim, &state, err);
}

/* Somebody bound the claim to a volume that is there, which is not the one that is filled. */
static bool
is_bound_elsewhere(const struct kube_object *volume, const struct kube_object *claim)
{
  CLEANUP(freep) char *own = persistent_volume_name(claim);
  const char *bound = json_text(claim->json, "spec", "volumeName");
  return origin_names(claim, &data_volumes, volume->ns, volume->name) && bound &&
         strcmp(bound, own) != 0;
}

static bool
is_new(const struct kube_object *claim)
{
  time_t made;
  return kube_time_parse(json_text(claim->json, "metadata", "creationTimestamp"), &made) == 0 &&
         time(NULL) < made + CLONE_S;
}

/* The controller of claims makes it, and tells on the claim what it waits for; here too. */
static int
tell_clone(struct populator *populator, const struct kube_object *volume,
           const struct kube_object *claim, int64_t *ret_again_ms, struct error **err)
{
  const struct data_volume_state cloning = {.phase = "CloneInProgress",
                                            .message = "the clone is made",
                                            .percent = -1,
                                            .is_running = true};
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(origin_clear) struct origin origin = {0};
  *ret_again_ms = WAITING_MS;
  if (is_new(claim) || origin_find(populator, claim, &origin, &failure) == 0)
    return data_volume_status_write(populator, volume, claim, &cloning, err);
  return tell(populator, volume, claim, "Pending", failure->message, err);
}

static int
advance(struct populator *populator, const struct kube_object *volume,
        const struct kube_object *claim, int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *storage_class = NULL;
  if (data_volume_claim_class(populator, claim, &storage_class, err) < 0)
    return -1;
  if (!data_volume_claim_may_be_placed(claim, storage_class))
    return tell(populator, volume, claim, "PendingPopulation",
                "waits for the first pod that uses it", err);
  switch (data_volume_spec_kind(volume)) {
  case DATA_VOLUME_IMPORT:
    return data_volume_import_advance(populator, volume, claim, storage_class, ret_again_ms, err);
  case DATA_VOLUME_UPLOAD:
    return upload_record_is_complete(volume)
               ? data_volume_import_advance(populator, volume, claim, storage_class, ret_again_ms,
                                            err)
               : data_volume_upload_wait(populator, volume, claim, ret_again_ms, err);
  case DATA_VOLUME_CLONE:
    return tell_clone(populator, volume, claim, ret_again_ms, err);
  default:
    return origin_is_ours(claim)
               ? tell_clone(populator, volume, claim, ret_again_ms, err)
               : tell(populator, volume, claim, "Pending", "the volume is made", err);
  }
}

/* Somebody else filled the claim of that name, and says that it is for this DataVolume. */
static bool
is_adopted(const struct kube_object *volume, const struct kube_object *claim)
{
  const char *for_whom = kube_object_annotation(claim, ANNOTATION_POPULATED_FOR);
  return kube_object_annotation(volume, ANNOTATION_PREPOPULATED) ||
         (for_whom && strcmp(for_whom, volume->name) == 0);
}

/* A claim that belongs to nobody, and a DataVolume that may have it: from then on it is its own. */
static bool
may_adopt(const struct kube_object *volume, const struct kube_object *claim)
{
  const char *allowed = kube_object_annotation(volume, ANNOTATION_ADOPTION);
  return allowed && strcmp(allowed, "true") == 0 && !kube_object_controller(claim) &&
         data_volume_claim_is_bound(claim);
}

static int
adopt(struct populator *populator, const struct kube_object *volume,
      const struct kube_object *claim, struct error **err)
{
  struct json_object *owners = kube_object_owner_references(volume, &data_volumes);
  struct json_object *present = json_at(claim->json, "metadata", "ownerReferences");
  for (size_t i = 0; i < json_count(present); i++)
    json_object_array_add(owners, json_copy(json_item(present, i)));
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  json_put_at(patch, owners, "metadata", "ownerReferences");
  json_put_text(patch, claim->version, "metadata", "resourceVersion");
  return kube_patch(populator->client, &kube_persistent_volume_claims, claim, NULL, patch, err);
}

static int
step(struct populator *populator, const struct kube_object *volume, const struct kube_object *claim,
     int64_t *ret_again_ms, struct error **err)
{
  const char *controller = claim ? kube_object_controller(claim) : NULL;
  if (!claim && kube_object_annotation(volume, ANNOTATION_PREPOPULATED))
    return error_set(err, ERROR_UNAVAILABLE, "PersistentVolumeClaim '%s' is not there yet",
                     volume->name);
  if (!claim)
    return prepare(populator, volume, ret_again_ms, err);
  bool is_own = controller && strcmp(controller, volume->uid) == 0;
  if (!is_own && may_adopt(volume, claim) && !claim->is_deleting)
    return adopt(populator, volume, claim, err); /* the change of the claim calls again */
  if (!is_own && !is_adopted(volume, claim))
    return error_set(err, ERROR_UNAVAILABLE,
                     "PersistentVolumeClaim '%s' is there already and is not of this DataVolume",
                     volume->name);
  if (claim->is_deleting) {
    data_volume_import_forget(populator, volume); /* which holds on to the volume */
    return error_set(err, ERROR_UNAVAILABLE, "PersistentVolumeClaim '%s' is being deleted",
                     volume->name);
  }
  if (is_own && is_bound_elsewhere(volume, claim))
    return error_set(
        err, ERROR_FAILED_PRECONDITION,
        "PersistentVolumeClaim '%s' was bound to PersistentVolume '%s', which is not the "
        "one that is filled: delete the claim",
        volume->name, json_text(claim->json, "spec", "volumeName"));
  if (data_volume_claim_is_bound(claim))
    return succeed(populator, volume, claim, err);
  if (!is_own)
    return error_set(err, ERROR_UNAVAILABLE, "PersistentVolumeClaim '%s' is not bound yet",
                     volume->name);
  return advance(populator, volume, claim, ret_again_ms, err);
}

static int
reconcile(struct populator *populator, const struct kube_object *volume, int64_t *ret_again_ms,
          struct error **err)
{
  bool is_orphan = false;
  if (!volume->is_deleting && cron_import_remove_orphan(populator, volume, &is_orphan, err) < 0)
    return -1;
  if (is_orphan || volume->is_deleting || data_volume_status_is_final(volume)) {
    data_volume_import_forget(populator, volume);
    if (data_volume_upload_end(populator, volume, err) < 0)
      return -1;
    return volume->is_deleting || is_orphan ? 0 /* the claim goes with its owner */
                                            : data_volume_again(populator, volume, err);
  }
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, volume->ns, volume->name);
  CLEANUP(error_freep) struct error *failure = NULL;
  if (step(populator, volume, claim, ret_again_ms, &failure) == 0)
    return 0;
  return tell_problem(populator, volume, claim, failure, ret_again_ms, err);
}

const struct controller data_volume_controller = {
    .name = "data-volume", .kind = &data_volumes, .reconcile = reconcile};

/* What we wrote ourselves needs no second look, but for the pause that is to be kept. */
static bool
is_of_interest(const struct kube_object *before, const struct kube_object *after)
{
  bool is_end = data_volume_status_is_final(before) != data_volume_status_is_final(after);
  return before->generation != after->generation || upload_record_is_step(before, after) ||
         is_end || retry_wait_ms(after) > 0 || retry_is_asked(after);
}

void
data_volume_changed(void *context, const struct kube_object *before,
                    const struct kube_object *after)
{
  struct populator *populator = context;
  const struct kube_object *volume = after ? after : before;
  assert(volume); /* there was one, or there is */
  bool is_change = before && after;
  if (!is_change || is_of_interest(before, after))
    populator_wake(populator, &data_volume_controller, volume->ns, volume->name);
  if (is_change && strcmp(data_volume_status_phase(before), data_volume_status_phase(after)) == 0)
    return;
  data_source_target_changed(populator, &kube_persistent_volume_claims, volume);
  data_import_cron_import_changed(populator, volume);
}
