/* SPDX-License-Identifier: Apache-2.0 */
/* VirtualMachineImage: its source is imported into a volume of its own, of which a snapshot is
 * taken, and every volume made from the image is a clone of that.
 *
 *   inspect the source → claim and volume → import → snapshot → bind the claim → Available
 *
 * What was reached is in the status, so whoever is called next goes on from there: virtualSize
 * after the first step, volumeHandle after the second, snapshotHandle behind the import. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/bound_volume.h"
#include "populator/controllers/host_image.h"
#include "populator/controllers/image_claim.h"
#include "populator/controllers/image_failure.h"
#include "populator/controllers/image_source.h"
#include "populator/controllers/image_status.h"
#include "populator/controllers/upload_record.h"
#include "populator/objects/condition.h"
#include "populator/objects/quantity.h"
#include "populator/objects/retry.h"
#include "populator/work/volumes.h"

#define WAITING_MS 10000

static const struct kube_kind *const kind = &virtual_machine_images;

/* ---- the steps --------------------------------------------------------------------------------
 */

static int
start(struct populator *populator, const struct kube_object *image, const char *verb,
      struct json_object *job)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  CLEANUP(freep) char *lease = xasprintf("image-%s", image->uid);
  json_put_at(job, json_object_new_boolean(true), "json");
  transfers_start(populator->transfers, key, lease, verb, job);
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
  return image_status_creating(populator, image, "the import begins", more, err);
}

static int
start_import(struct populator *populator, const struct kube_object *image, struct error **err)
{
  struct json_object *job;
  if (image_source_import_job(populator, image, &job, err) < 0)
    return -1;
  return start(populator, image, "import", job);
}

static int
write_progress(struct populator *populator, const struct kube_object *image,
               const struct transfer_view *view, const char *what, struct error **err)
{
  if (view->state == TRANSFER_ELSEWHERE)
    return 0; /* whoever does it tells of it */
  if (view->state == TRANSFER_WAITING)
    return image_status_creating(
        populator, image, view->trouble ? view->trouble : "waits for other transfers", NULL, err);
  struct json_object *more = json_object_new_object();
  retry_clear(image, more);
  if (view->percent >= 0 && !view->trouble) {
    CLEANUP(freep) char *progress = xasprintf("%.1f%%", view->percent);
    json_put_text(more, progress, "progress");
  }
  return image_status_creating(populator, image, view->trouble ? view->trouble : what, more, err);
}

/* The claim was deleted meanwhile and made anew: what was imported went with the old one. */
static int
import_anew(struct populator *populator, const struct kube_object *image, struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  transfers_forget(populator->transfers, key);
  return image_status_creating(populator, image, "begins anew: its claim was deleted",
                               image_status_one("volumeHandle", NULL), err);
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
  CLEANUP(freep) char *name = xasprintf("image-%s", image->uid);
  CLEANUP(freep) char *snapshot = NULL;
  struct made_volume volume = {0};
  int r = image_claim_volume(populator, claim, &volume, err);
  if (r == 0 && !is_in(image, &volume)) {
    made_volume_clear(&volume);
    return import_anew(populator, image, err);
  }
  if (r == 0)
    r = volumes_snapshot(populator->controller, name, volume.handle, &snapshot, err);
  if (r == 0)
    r = image_claim_bind(populator, claim, &volume, err);
  if (r == 0)
    r = upload_record_discard(populator, &image_upload, image, err);
  made_volume_clear(&volume);
  if (r < 0)
    return -1;
  struct json_object *more = image_status_one("snapshotHandle", json_object_new_string(snapshot));
  json_put_text(more, "100.0%", "progress");
  json_object_object_add(more, "attempts", NULL);
  json_object_object_add(more, "hostTransfer", NULL);
  retry_clear(image, more);
  if (upload_record_is_source(image))
    json_object_object_add(more, "upload", image_status_one("handle", NULL));
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
  if (claim &&
      bound_volume_find(populator, image->ns, claim, "spec.source.pvc.name", &origin, err) < 0)
    return -1;
  int r = step_with(populator, image, &origin, view, err);
  bound_volume_clear(&origin);
  return r;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

/* The image goes: its import stops, its snapshot and volume are removed. */
static int
clean_up(struct populator *populator, const struct kube_object *image, struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  const char *snapshot = json_text(image->json, "status", "snapshotHandle");
  const char *volume = json_text(image->json, "status", "volumeHandle");
  transfers_forget(populator->transfers, key);
  if (snapshot && volumes_delete_snapshot(populator->controller, snapshot, err) < 0)
    return -1;
  if (image_claim_remove(populator, image, volume, err) < 0)
    return -1;
  bool is_available = strcmp(condition_state(image), "Available") == 0;
  if (!is_available && upload_record_discard(populator, &image_upload, image, err) < 0)
    return -1;
  return kube_remove_finalizer(populator->client, kind, image, FINALIZER_CLEANUP, err);
}

/* How the transfer of this step fares. One of an earlier step, which another populator has done in
 * our place, says nothing: it goes. */
static int
look(struct populator *populator, const struct kube_object *image, struct transfer_view *ret_view,
     struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  if (host_image_is_source(image))
    return host_image_look(populator, image, ret_view, err);
  bool is_inspected = json_number(image->json, "status", "virtualSize") != 0;
  transfers_look(populator->transfers, key, ret_view);
  if (ret_view->state == TRANSFER_NONE ||
      strcmp(ret_view->verb, is_inspected ? "import" : "inspect") == 0)
    return 0;
  transfer_view_clear(ret_view);
  transfers_forget(populator->transfers, key);
  return 0;
}

/* The next step, unless a pause between two attempts is to be kept. */
static int
step_or_wait(struct populator *populator, const struct kube_object *image,
             struct transfer_view *view, int64_t *ret_again_ms, struct error **err)
{
  int64_t wait_ms = retry_wait_ms(image);
  if (wait_ms == 0 || transfer_view_is_begun(view))
    return step(populator, image, view, err);
  CLEANUP(freep) char *key = image_transfer_key(image);
  transfers_forget(populator->transfers, key);
  *ret_again_ms = wait_ms;
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
  /* Something is missing that may come, or the API server does not let us: a quota, mostly. */
  if (failure->code == ERROR_UNAVAILABLE || failure->code == ERROR_PERMISSION_DENIED) {
    kube_event_tell(populator->events, kind, image, KUBE_EVENT_WARNING, "Waiting", "%s",
                    failure->message);
    *ret_again_ms = WAITING_MS;
    return image_status_creating(populator, image, failure->message, NULL, err);
  }
  return error_set(err, failure->code, "%s", failure->message);
}

static int
reconcile(struct populator *populator, const struct kube_object *image, int64_t *ret_again_ms,
          struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  const char *state = condition_state(image);
  bool is_seen = json_number(image->json, "status", "observedGeneration") == image->generation;
  bool is_failed = strcmp(state, "Error") == 0;
  if (populator->node)
    return host_image_reconcile(populator, image, ret_again_ms, err);
  if (image->is_deleting)
    return kube_object_has_finalizer(image, FINALIZER_CLEANUP) ? clean_up(populator, image, err)
                                                               : 0;
  if (strcmp(state, "Available") == 0 || (is_failed && is_seen && !retry_is_asked(image))) {
    transfers_forget(populator->transfers, key);
    return 0;
  }
  if (!kube_object_has_finalizer(image, FINALIZER_CLEANUP))
    return kube_add_finalizer(populator->client, kind, image, FINALIZER_CLEANUP, err);
  if (*state && (!is_seen || is_failed))
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
  populator_wake(populator, &image_controller, image->ns, image->name);
  if (before && after && strcmp(condition_state(before), condition_state(after)) == 0)
    return;
  volume_image_changed(populator, image);
  claim_origin_changed(populator, &virtual_machine_images, image);
}
