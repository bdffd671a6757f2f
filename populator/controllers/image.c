/* SPDX-License-Identifier: Apache-2.0 */
/* VirtualMachineImage: its source is imported into a volume of its own, of which a snapshot is
 * taken, and every volume made from the image is a clone of that.
 *
 *   inspect the source → claim and volume → import → snapshot → bind the claim → Available
 *
 * What was reached is in the status, so whoever is called next goes on from there: virtualSize
 * after the first step, volumeHandle after the second, snapshotHandle behind the import. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/bound_volume.h"
#include "populator/controllers/failure_field.h"
#include "populator/controllers/host_image.h"
#include "populator/controllers/image_claim.h"
#include "populator/controllers/image_failure.h"
#include "populator/controllers/image_snapshot.h"
#include "populator/controllers/image_source.h"
#include "populator/controllers/image_status.h"
#include "populator/controllers/upload_expiry.h"
#include "populator/controllers/upload_record.h"
#include "populator/objects/condition.h"
#include "populator/objects/quantity.h"
#include "populator/objects/retry.h"

#define WAITING_MS 10000
#define BEGINS "the import begins"

static const struct kube_kind *const kind = &virtual_machine_images;

/* ---- the steps --------------------------------------------------------------------------------
 */

/* What a transfer of this step is about. To be freed. */
static char *
about_of(const struct kube_object *image)
{
  const char *handle = json_text(image->json, "status", "volumeHandle");
  return xasprintf("%" PRId64 " %s", image->generation,
                   json_number(image->json, "status", "virtualSize") == 0 ? "inspect"
                   : handle                                               ? handle
                                                                          : "");
}

static int
start(struct populator *populator, const struct kube_object *image, const char *verb,
      struct json_object *job)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  CLEANUP(freep) char *lease = xasprintf("image-%s", image->uid);
  CLEANUP(freep) char *about = about_of(image);
  json_put_at(job, json_object_new_boolean(true), "json");
  const struct transfer_order order = {key, lease, verb, about};
  transfers_start(populator->transfers, &order, job);
  return 0;
}

static int
start_inspection(struct populator *populator, const struct kube_object *image, struct error **err)
{
  struct json_object *job;
  if (image_source_job(populator, image, &job, err) < 0)
    return -1;
  (void)start(populator, image, "inspect", job);
  /* A later attempt is told of when it runs: until then the reason of the last one is shown. */
  return *condition_state(image)
             ? 0
             : image_status_creating(populator, image, "the source is looked at", NULL, err);
}

/* -1 in the status: it cannot be told before the end. */
static int
take_inspection(struct populator *populator, const struct kube_object *image,
                const struct transfer_view *view, struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  int64_t bytes = json_number(view->result, "virtualSize");
  const char *refusal = json_text(view->result, "refusal");
  if (refusal)
    return image_give_up(populator, image, refusal, err);
  struct json_object *more =
      image_status_one("virtualSize", json_object_new_int64(bytes > 0 ? bytes : -1));
  retry_clear(image, more);
  if (image_status_creating(populator, image, "the volume is made", more, err) < 0)
    return -1;
  transfers_forget(populator->transfers, key);
  return 0;
}

static int
make_volume(struct populator *populator, const struct kube_object *image,
            const struct image_claim *claim, struct error **err)
{
  struct made_volume volume;
  char size[QUANTITY_TEXT_BYTES];
  if (image_claim_volume(populator, claim, &volume, err) < 0)
    return -1;
  struct json_object *more =
      image_status_one("volumeHandle", json_object_new_string(volume.handle));
  json_put_text(more, quantity_text(volume.capacity_bytes, size), "size");
  made_volume_clear(&volume);
  return image_status_creating(populator, image, BEGINS, more, err);
}

static int
start_import(struct populator *populator, const struct kube_object *image, struct error **err)
{
  struct json_object *job;
  if (image_source_import_job(populator, image, &job, err) < 0)
    return -1;
  return start(populator, image, "import", job);
}

/* That there is no place for it here concerns nobody while another populator imports it: of two who
 * tell what they see, each would undo what the other said. */
static int
write_waiting(struct populator *populator, const struct kube_object *image, const char *trouble,
              struct error **err)
{
  const char *said = condition_message(image);
  if (!trouble && *condition_state(image) && strcmp(said, BEGINS) != 0)
    return 0;
  return image_status_creating(populator, image, trouble ? trouble : "waits for other transfers",
                               NULL, err);
}

static int
write_progress(struct populator *populator, const struct kube_object *image,
               const struct transfer_view *view, const char *what, struct error **err)
{
  if (view->state == TRANSFER_ELSEWHERE)
    return 0; /* whoever does it tells of it */
  if (view->state == TRANSFER_WAITING)
    return write_waiting(populator, image, view->trouble, err);
  struct json_object *more = json_object_new_object();
  retry_clear(image, more);
  if (view->percent >= 0 && !view->trouble) {
    CLEANUP(freep) char *progress = xasprintf("%.1f%%", view->percent);
    json_put_text(more, progress, "progress");
  }
  if (view->moved > 0)
    json_put_at(more, json_object_new_int64(view->moved), "bytesFetched");
  return image_status_creating(populator, image, view->trouble ? view->trouble : what, more, err);
}

/* The claim was deleted meanwhile and made anew: what was imported went with the old one. */
static int
import_anew(struct populator *populator, const struct kube_object *image, struct error **err)
{
  CLEANUP(freep) char *claim = image_claim_name(image);
  CLEANUP(freep)
  char *reason = xasprintf("PersistentVolumeClaim '%s/%s' was deleted, and what was imported went "
                           "with it: leave it alone, it goes with its image",
                           image->ns, claim);
  if (image_snapshot_remove(populator, image, err) < 0)
    return -1;
  struct json_object *more = image_status_one("volumeHandle", NULL);
  json_object_object_add(more, "progress", NULL);
  return image_retry(populator, image, reason, more, err);
}

static bool
is_in(const struct kube_object *image, const struct made_volume *volume)
{
  const char *handle = json_text(image->json, "status", "volumeHandle");
  return handle && strcmp(handle, volume->handle) == 0;
}

/* All bytes are there. */
static int
finish(struct populator *populator, const struct kube_object *image,
       const struct image_claim *claim, const struct transfer_view *view, struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  CLEANUP(freep) char *snapshot = NULL;
  struct made_volume volume = {0};
  int r = image_claim_volume(populator, claim, &volume, err);
  if (r == 0 && !is_in(image, &volume)) {
    made_volume_clear(&volume);
    return import_anew(populator, image, err);
  }
  if (r == 0)
    r = image_snapshot_take(populator, image, volume.handle, &snapshot, err);
  if (r == 0)
    r = image_claim_bind(populator, claim, &volume, err);
  made_volume_clear(&volume);
  if (r < 0)
    return -1;
  struct json_object *more = image_status_one("snapshotHandle", json_object_new_string(snapshot));
  json_put_text(more, "100.0%", "progress");
  if (view->moved > 0)
    json_put_at(more, json_object_new_int64(view->moved), "bytesFetched");
  json_object_object_add(more, "attempts", NULL);
  json_object_object_add(more, "hostTransfer", NULL);
  retry_clear(image, more);
  const char *digest = json_text(view->result, "digest");
  const char *format = json_text(view->result, "format");
  if (digest)
    json_put_text(more, digest, "digest");
  if (format)
    json_put_text(more, format, "format");
  const struct verdict verdict = {
      .state = "Available", .reason = "VmiIsReady", .message = "", .is_ready = true};
  if (image_status_write(populator, image, &verdict, more, err) < 0)
    return -1;
  transfers_forget(populator->transfers, key);
  kube_event_tell(populator->events, kind, image, KUBE_EVENT_NORMAL, "Imported",
                  "the image is available");
  return 0;
}

/* With a claim at hand: the volume, the import, the end. */
static int
step_import(struct populator *populator, const struct kube_object *image,
            const struct image_claim *claim, struct transfer_view *view, struct error **err)
{
  if (!json_text(image->json, "status", "volumeHandle"))
    return make_volume(populator, image, claim, err);
  if (!image_claim_is_begun(claim))
    return import_anew(populator, image, err);
  if (claim->origin) /* a clone is complete when it is made */
    return finish(populator, image, claim, view, err);
  switch (view->state) {
  case TRANSFER_NONE:
    return start_import(populator, image, err);
  case TRANSFER_FAILED:
    return image_take_failure(populator, image, view, err);
  case TRANSFER_DONE:
    return finish(populator, image, claim, view, err);
  default:
    return write_progress(populator, image, view, "the image is imported", err);
  }
}

/* What the image is: asked of its source by a worker, or known already. */
static int
step_inspect(struct populator *populator, const struct kube_object *image,
             const struct bound_volume *origin, const struct transfer_view *view,
             struct error **err)
{
  if (origin->handle)
    return image_status_creating(
        populator, image, "the volume is cloned",
        image_status_one("virtualSize", json_object_new_int64((int64_t)origin->bytes)), err);
  switch (view->state) {
  case TRANSFER_NONE:
    return start_inspection(populator, image, err);
  case TRANSFER_FAILED:
    return image_take_failure(populator, image, view, err);
  case TRANSFER_DONE:
    return take_inspection(populator, image, view, err);
  default:
    return write_progress(populator, image, view, "the source is looked at", err);
  }
}

static int
step_with(struct populator *populator, const struct kube_object *image,
          const struct bound_volume *origin, struct transfer_view *view, struct error **err)
{
  int64_t virtual_bytes = json_number(image->json, "status", "virtualSize");
  if (virtual_bytes == 0)
    return step_inspect(populator, image, origin, view, err);
  struct image_claim claim;
  if (image_claim_open(populator, image, virtual_bytes > 0 ? (uint64_t)virtual_bytes : 0, &claim,
                       err) < 0)
    return -1;
  claim.origin = xstrdup(origin->handle);
  int r = step_import(populator, image, &claim, view, err);
  image_claim_clear(&claim);
  return r;
}

static int
step(struct populator *populator, const struct kube_object *image, struct transfer_view *view,
     struct error **err)
{
  struct bound_volume origin = {0};
  struct upload_record upload;
  const char *claim = json_text(image->json, "spec", "source", "pvc", "name");
  upload_record_look(image, &upload);
  if (upload_record_is_source(image) && !upload_record_is_complete(image))
    return upload.size ? 0 /* whoever receives it tells of it */
                       : image_status_creating(populator, image,
                                               "waits for its upload, docs/upload.md", NULL, err);
  if (upload.failure) {
    CLEANUP(freep) char *reason = failure_field_tell(image, "spec.checksum", upload.failure);
    return image_give_up(populator, image, reason, err);
  }
  if (claim &&
      bound_volume_find(populator, image->ns, claim, "spec.source.pvc.name", &origin, err) < 0)
    return -1;
  int r = step_with(populator, image, &origin, view, err);
  bound_volume_clear(&origin);
  return r;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static bool
is_available(const struct kube_object *image)
{
  return strcmp(condition_state(image), "Available") == 0;
}

static bool
has_upload(const struct kube_object *image)
{
  struct upload_record upload;
  upload_record_look(image, &upload);
  return upload.handle != NULL;
}

/* What was sent goes when the import is on record, not before: until then it may be needed once
 * more. */
static int
drop_upload(struct populator *populator, const struct kube_object *image, struct error **err)
{
  if (upload_record_discard(populator, &image_upload, image, err) < 0)
    return -1;
  struct json_object *status = image_status_one("upload", image_status_one("handle", NULL));
  return kube_patch_status(populator->client, kind, image, status, err);
}

static bool
has_snapshot(const struct kube_object *image)
{
  return json_text(image->json, "status", "snapshotHandle") != NULL;
}

/* It is as it will stay. */
static int
rest(struct populator *populator, const struct kube_object *image, bool is_seen, struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  transfers_forget(populator->transfers, key);
  if (is_available(image) && !has_snapshot(image))
    return image_status_unusable(populator, image, err);
  if (!is_seen)
    return image_status_unchanged(populator, image, err);
  return is_available(image) && has_upload(image) ? drop_upload(populator, image, err) : 0;
}

/* The image goes: its import stops, its snapshot and volume are removed. */
static int
clean_up(struct populator *populator, const struct kube_object *image, struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  const char *volume = json_text(image->json, "status", "volumeHandle");
  transfers_forget(populator->transfers, key);
  if (image_snapshot_remove(populator, image, err) < 0)
    return -1;
  if (image_claim_remove(populator, image, volume, err) < 0)
    return -1;
  if ((!is_available(image) || has_upload(image)) &&
      upload_record_discard(populator, &image_upload, image, err) < 0)
    return -1;
  return kube_remove_finalizer(populator->client, kind, image, FINALIZER_CLEANUP, err);
}

/* How the transfer of this step fares. */
static int
look(struct populator *populator, const struct kube_object *image, struct transfer_view *ret_view,
     struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  CLEANUP(freep) char *about = about_of(image);
  if (host_image_is_source(image))
    return host_image_look(populator, image, ret_view, err);
  transfers_look(populator->transfers, key, about, ret_view);
  return 0;
}

/* The next step, unless a pause between two attempts is to be kept. */
static int
step_or_wait(struct populator *populator, const struct kube_object *image,
             struct transfer_view *view, int64_t *ret_again_ms, struct error **err)
{
  if (upload_record_is_source(image) &&
      upload_expiry_check(populator, &image_upload, image, ret_again_ms, err) < 0)
    return -1;
  int64_t wait_ms = retry_wait_ms(image);
  if (wait_ms == 0 || transfer_view_is_begun(view))
    return step(populator, image, view, err);
  CLEANUP(freep) char *key = image_transfer_key(image);
  transfers_forget(populator->transfers, key);
  *ret_again_ms = wait_ms;
  return 0;
}

/* Something is missing that may come, or the API server does not let us: a quota, mostly. What else
 * it may be, Ceph that is full, say, is told as well. */
static int
tell_problem(struct populator *populator, const struct kube_object *image,
             const struct error *failure, int64_t *ret_again_ms, struct error **err)
{
  bool is_waiting = failure->code == ERROR_UNAVAILABLE || failure->code == ERROR_PERMISSION_DENIED;
  if (failure->code != ERROR_ABORTED && failure->code != ERROR_CANCELLED) {
    kube_event_tell(populator->events, kind, image, KUBE_EVENT_WARNING, "Waiting", "%s",
                    failure->message);
    if (image_status_creating(populator, image, failure->message, NULL, err) < 0)
      return -1;
  }
  if (!is_waiting)
    return error_set(err, failure->code, "%s", failure->message);
  *ret_again_ms = WAITING_MS;
  return 0;
}

static int
advance(struct populator *populator, const struct kube_object *image, int64_t *ret_again_ms,
        struct error **err)
{
  struct transfer_view view = {0};
  CLEANUP(error_freep) struct error *failure = NULL;
  int r = look(populator, image, &view, &failure);
  if (r == 0 && host_image_is_source(image))
    *ret_again_ms = WAITING_MS; /* the node may be gone meanwhile, and says nothing then */
  if (r == 0)
    r = step_or_wait(populator, image, &view, ret_again_ms, &failure);
  transfer_view_clear(&view);
  if (r == 0)
    return 0;
  if (failure->code == ERROR_INVALID_ARGUMENT || failure->code == ERROR_FAILED_PRECONDITION ||
      failure->code == ERROR_OUT_OF_RANGE)
    return image_give_up(populator, image, failure->message, err);
  return tell_problem(populator, image, failure, ret_again_ms, err);
}

static int
reconcile(struct populator *populator, const struct kube_object *image, int64_t *ret_again_ms,
          struct error **err)
{
  const char *state = condition_state(image);
  bool is_seen = json_number(image->json, "status", "observedGeneration") == image->generation;
  bool is_failed = strcmp(state, "Error") == 0;
  if (populator->node)
    return host_image_reconcile(populator, image, ret_again_ms, err);
  if (image->is_deleting)
    return kube_object_has_finalizer(image, FINALIZER_CLEANUP) ? clean_up(populator, image, err)
                                                               : 0;
  bool is_done = is_available(image) && (has_snapshot(image) || !retry_is_asked(image));
  if (is_done || (is_failed && is_seen && !retry_is_asked(image)))
    return rest(populator, image, is_seen, err);
  if (!kube_object_has_finalizer(image, FINALIZER_CLEANUP))
    return kube_add_finalizer(populator->client, kind, image, FINALIZER_CLEANUP, err);
  if (*state && (!is_seen || is_failed || is_available(image)))
    return image_start_over(populator, image, err);
  return advance(populator, image, ret_again_ms, err);
}

const struct controller image_controller = {
    .name = "image",
    .kind = &virtual_machine_images,
    .reconcile = reconcile,
};

/* The progress of an import concerns nobody else; its state does. */
void
image_changed(void *context, const struct kube_object *before, const struct kube_object *after)
{
  struct populator *populator = context;
  const struct kube_object *image = after ? after : before;
  assert(image); /* there was one, or there is */
  bool is_change = before && after;
  if (!is_change || image_status_is_news(before, after))
    populator_wake(populator, &image_controller, image->ns, image->name);
  if (is_change && strcmp(condition_state(before), condition_state(after)) == 0)
    return;
  volume_image_changed(populator, image);
  claim_origin_changed(populator, &virtual_machine_images, image);
}
