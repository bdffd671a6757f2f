/* SPDX-License-Identifier: Apache-2.0 */
/* DataVolume: a claim of the same name, and what it is filled from. Imports are done here
 * (data_volume_import), of what is sent to us too (data_volume_upload), clones by the controller of
 * claims, blank volumes by the provisioner; the DataVolume tells how far it is. */
#include <assert.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/clone_source.h"
#include "populator/controllers/data_volume_claim.h"
#include "populator/controllers/data_volume_import.h"
#include "populator/controllers/data_volume_status.h"
#include "populator/controllers/data_volume_upload.h"
#include "populator/controllers/origin.h"
#include "populator/objects/image_labels.h"
#include "populator/objects/retry.h"

#define WAITING_MS 10000
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
  CLEANUP(kube_object_releasep) struct kube_object *claim = NULL;
  CLEANUP(json_object_putp) struct json_object *labels = json_object_new_object();
  if (origin_of_data_volume(populator, volume, &link, err) < 0 ||
      clone_source_find(populator, &link, &source, err) < 0)
    return -1;
  if (link.kind == &kube_persistent_volume_claims)
    claim = kube_mirror_get(populator->claims, link.ns, link.name);
  if (claim)
    (void)image_labels_copy(claim, labels); /* no others: they say whose the source is */
  const struct data_volume_content content = {
      .bytes = source.bytes,
      .labels = labels,
      .link = &link,
      .source = claim,
  };
  return data_volume_claim_make(populator, volume, &content, err);
}

static int
prepare(struct populator *populator, const struct kube_object *volume, int64_t *ret_again_ms,
        struct error **err)
{
  const struct data_volume_content nothing = {0};
  switch (data_volume_spec_kind(volume)) {
  case DATA_VOLUME_IMPORT:
    return data_volume_import_prepare(populator, volume, ret_again_ms, err);
  case DATA_VOLUME_CLONE:
    return prepare_clone(populator, volume, err);
  default:
    return data_volume_claim_make(populator, volume, &nothing, err);
  }
}

/* Some things may come, others never. */
static int
tell_problem(struct populator *populator, const struct kube_object *volume,
             const struct kube_object *claim, const struct error *problem, int64_t *ret_again_ms,
             struct error **err)
{
  bool is_final = problem->code == ERROR_INVALID_ARGUMENT ||
                  problem->code == ERROR_FAILED_PRECONDITION || problem->code == ERROR_OUT_OF_RANGE;
  if (!is_final && problem->code != ERROR_UNAVAILABLE && problem->code != ERROR_PERMISSION_DENIED)
    return error_set(err, problem->code, "%s", problem->message);
  kube_event_tell(populator->events, &data_volumes, volume, KUBE_EVENT_WARNING,
                  is_final ? "Failed" : "Waiting", "%s", problem->message);
  if (is_final)
    data_volume_import_forget(populator, volume);
  else
    *ret_again_ms = WAITING_MS;
  if (is_final && data_volume_upload_end(populator, volume, err) < 0)
    return -1;
  return tell(populator, volume, claim, is_final ? "Failed" : "Pending", problem->message, err);
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
  return tell(populator, volume, claim, "Succeeded", "the volume is complete", err);
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
  const struct data_volume_state cloning = {.phase = "CloneInProgress",
                                            .message = "the clone is made",
                                            .percent = -1,
                                            .is_running = true};
  switch (data_volume_spec_kind(volume)) {
  case DATA_VOLUME_IMPORT:
    return data_volume_import_advance(populator, volume, claim, storage_class, ret_again_ms, err);
  case DATA_VOLUME_UPLOAD:
    return upload_record_is_complete(volume)
               ? data_volume_import_advance(populator, volume, claim, storage_class, ret_again_ms,
                                            err)
               : data_volume_upload_wait(populator, volume, claim, err);
  case DATA_VOLUME_CLONE:
    return data_volume_status_write(populator, volume, claim, &cloning, err);
  default:
    return tell(populator, volume, claim, "Pending", "the volume is made", err);
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
  if (volume->is_deleting || data_volume_status_is_final(volume)) {
    data_volume_import_forget(populator, volume);
    return data_volume_upload_end(populator, volume, err); /* the claim goes with its owner */
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

/* Whoever receives a file writes how far it is: its beginning and its end are to be acted on. */
static bool
is_step_of_upload(const struct kube_object *before, const struct kube_object *after)
{
  struct upload_record was;
  struct upload_record is;
  upload_record_look(before, &was);
  upload_record_look(after, &is);
  return was.size != is.size ||
         upload_record_is_complete(before) != upload_record_is_complete(after);
}

/* What we wrote ourselves needs no second look, but for the pause that is to be kept. */
static bool
is_of_interest(const struct kube_object *before, const struct kube_object *after)
{
  return before->generation != after->generation || is_step_of_upload(before, after) ||
         retry_wait_ms(after) > 0 || retry_is_asked(after);
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
