/* SPDX-License-Identifier: Apache-2.0 */
/* VirtualMachineImage: its source is imported into a volume of its own, of which a snapshot is
 * taken, and every volume made from the image is a clone of that.
 *
 *   inspect the source → claim and volume → import → snapshot → bind the claim → Available
 *
 * What was reached is in the status, so whoever is called next goes on from there: virtualSize
 * after the first step, volumeHandle after the second, snapshotHandle behind the import. */
#include <inttypes.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/bound_volume.h"
#include "populator/controllers/host_image.h"
#include "populator/controllers/image_claim.h"
#include "populator/controllers/image_source.h"
#include "populator/controllers/upload_record.h"
#include "populator/objects/condition.h"
#include "populator/objects/quantity.h"
#include "populator/work/volumes.h"

#define RETRIES_DEFAULT 5
#define WAITING_MS 10000

static const struct kube_kind *const kind = &virtual_machine_images;

static char *
transfer_key(const struct kube_object *image)
{
  return populator_key(&image_controller, image->ns, image->name);
}

/* ---- status -----------------------------------------------------------------------------------
 */

/* `more` is merged into the status and is taken; it may be NULL. */
static int
write_status(struct populator *populator, const struct kube_object *image,
             const struct verdict *verdict, struct json_object *more, struct error **err)
{
  CLEANUP(freep) char *source = image_source_text(image);
  CLEANUP(freep) char *claim = image_claim_name(image);
  struct json_object *status = condition_status(image, verdict);
  json_put_text(status, source, "source");
  json_put_text(status, claim, "pvcName");
  if (more) {
    json_object_object_foreach(more, name, value)
        json_object_object_add(status, name, json_object_get(value));
    json_object_put(more);
  }
  return kube_patch_status(populator->client, kind, image, status, err);
}

static int
write_creating(struct populator *populator, const struct kube_object *image, const char *message,
               struct json_object *more, struct error **err)
{
  const struct verdict verdict = {
      .state = "Creating", .reason = "VmiIsCreating", .message = message};
  return write_status(populator, image, &verdict, more, err);
}

static struct json_object *
one_member(const char *name, struct json_object *value)
{
  struct json_object *object = json_object_new_object();
  json_object_object_add(object, name, value);
  return object;
}

/* As if nothing had been made. */
static struct json_object *
no_members(void)
{
  static const char *const names[] = {"volumeHandle", "upload",   "virtualSize",
                                      "progress",     "attempts", "hostTransfer"};
  struct json_object *object = json_object_new_object();
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    json_object_object_add(object, names[i], NULL);
  return object;
}

/* ---- when it cannot be done -------------------------------------------------------------------
 */

/* Takes back what was made, so that nothing is left but the reason. */
static int
give_up(struct populator *populator, const struct kube_object *image, const char *message,
        struct error **err)
{
  CLEANUP(freep) char *key = transfer_key(image);
  const char *handle = json_text(image->json, "status", "volumeHandle");
  if (image_claim_remove(populator, image, handle, err) < 0 ||
      upload_record_discard(populator, &image_upload, image, err) < 0)
    return -1;
  const struct verdict verdict = {.state = "Error", .reason = "SeeMessages", .message = message};
  if (write_status(populator, image, &verdict, no_members(), err) < 0)
    return -1;
  transfers_forget(populator->transfers, key);
  kube_event_tell(populator->events, kind, image, KUBE_EVENT_WARNING, "ImportFailed", "%s",
                  message);
  return 0;
}

/* Whether trying again could help. */
static bool
may_pass(enum error_code code)
{
  return code == ERROR_UNAVAILABLE || code == ERROR_DEADLINE_EXCEEDED || code == ERROR_ABORTED ||
         code == ERROR_CANCELLED || code == ERROR_RESOURCE_EXHAUSTED || code == ERROR_UNKNOWN;
}

static int64_t
retries_of(const struct kube_object *image)
{
  struct json_object *retry = json_at(image->json, "spec", "retry");
  if (json_object_is_type(retry, json_type_int))
    return json_object_get_int64(retry);
  return json_at(retry, "limit") ? json_number(retry, "limit") : RETRIES_DEFAULT;
}

/* A transfer failed: again, or not. */
static int
take_failure(struct populator *populator, const struct kube_object *image,
             const struct transfer_view *view, int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(freep) char *key = transfer_key(image);
  int64_t failures = json_number(image->json, "status", "attempts") + 1;
  if (!may_pass(view->code) || failures > retries_of(image))
    return give_up(populator, image, view->message, err);
  CLEANUP(freep)
  char *message =
      xasprintf("attempt %" PRId64 " failed, once more soon: %s", failures, view->message);
  if (write_creating(populator, image, message,
                     one_member("attempts", json_object_new_int64(failures)), err) < 0)
    return -1;
  kube_event_tell(populator->events, kind, image, KUBE_EVENT_WARNING, "ImportRetried", "%s",
                  message);
  transfers_forget(populator->transfers, key);
  *ret_again_ms = 1000LL << (failures < 6 ? failures : 6);
  return 0;
}

/* ---- the steps --------------------------------------------------------------------------------
 */

static int
start(struct populator *populator, const struct kube_object *image, const char *verb,
      struct json_object *job)
{
  CLEANUP(freep) char *key = transfer_key(image);
  CLEANUP(freep) char *lease = xasprintf("image-%s", image->uid);
  json_put_at(job, json_object_new_boolean(true), "json");
  transfers_start(populator->transfers, key, lease, verb, job);
  return 0;
}

static int
start_inspection(struct populator *populator, const struct kube_object *image, struct error **err)
{
  struct json_object *job;
  if (image_source_job(populator, image, &job, err) < 0 ||
      write_creating(populator, image, "the source is looked at", NULL, err) < 0)
    return -1;
  return start(populator, image, "inspect", job);
}

/* -1 in the status: it cannot be told before the end. */
static int
take_inspection(struct populator *populator, const struct kube_object *image,
                const struct transfer_view *view, struct error **err)
{
  CLEANUP(freep) char *key = transfer_key(image);
  int64_t bytes = json_number(view->result, "virtualSize");
  const char *refusal = json_text(view->result, "refusal");
  if (refusal)
    return give_up(populator, image, refusal, err);
  if (write_creating(populator, image, "the volume is made",
                     one_member("virtualSize", json_object_new_int64(bytes > 0 ? bytes : -1)),
                     err) < 0)
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
  struct json_object *more = one_member("volumeHandle", json_object_new_string(volume.handle));
  json_put_text(more, quantity_text(volume.capacity_bytes, size), "size");
  made_volume_clear(&volume);
  return write_creating(populator, image, "the import begins", more, err);
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
               const struct transfer_view *view, struct error **err)
{
  if (view->state == TRANSFER_ELSEWHERE)
    return 0; /* whoever does it tells of it */
  if (view->trouble)
    return write_creating(populator, image, view->trouble, NULL, err);
  if (view->state == TRANSFER_WAITING)
    return write_creating(populator, image, "waits for other transfers", NULL, err);
  if (view->percent < 0)
    return write_creating(populator, image, "the image is imported", NULL, err);
  CLEANUP(freep) char *progress = xasprintf("%.1f%%", view->percent);
  return write_creating(populator, image, "the image is imported",
                        one_member("progress", json_object_new_string(progress)), err);
}

/* The claim was deleted meanwhile and made anew: what was imported went with the old one. */
static int
import_anew(struct populator *populator, const struct kube_object *image, struct error **err)
{
  CLEANUP(freep) char *key = transfer_key(image);
  transfers_forget(populator->transfers, key);
  return write_creating(populator, image, "begins anew: its claim was deleted",
                        one_member("volumeHandle", NULL), err);
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
  CLEANUP(freep) char *key = transfer_key(image);
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
  struct json_object *more = one_member("snapshotHandle", json_object_new_string(snapshot));
  json_put_text(more, "100.0%", "progress");
  json_object_object_add(more, "attempts", NULL);
  json_object_object_add(more, "hostTransfer", NULL);
  if (upload_record_is_source(image))
    json_object_object_add(more, "upload", one_member("handle", NULL));
  const char *digest = json_text(view->result, "digest");
  const char *format = json_text(view->result, "format");
  if (digest)
    json_put_text(more, digest, "digest");
  if (format)
    json_put_text(more, format, "format");
  const struct verdict verdict = {
      .state = "Available", .reason = "VmiIsReady", .message = "", .is_ready = true};
  if (write_status(populator, image, &verdict, more, err) < 0)
    return -1;
  transfers_forget(populator->transfers, key);
  kube_event_tell(populator->events, kind, image, KUBE_EVENT_NORMAL, "Imported",
                  "the image is available");
  return 0;
}

/* With a claim at hand: the volume, the import, the end. */
static int
step_import(struct populator *populator, const struct kube_object *image,
            const struct image_claim *claim, struct transfer_view *view, int64_t *ret_again_ms,
            struct error **err)
{
  if (!json_text(image->json, "status", "volumeHandle"))
    return make_volume(populator, image, claim, err);
  if (claim->origin) /* a clone is complete when it is made */
    return finish(populator, image, claim, view, err);
  switch (view->state) {
  case TRANSFER_NONE:
    return start_import(populator, image, err);
  case TRANSFER_FAILED:
    return take_failure(populator, image, view, ret_again_ms, err);
  case TRANSFER_DONE:
    return finish(populator, image, claim, view, err);
  default:
    return write_progress(populator, image, view, err);
  }
}

/* What the image is: asked of its source by a worker, or known already. */
static int
step_inspect(struct populator *populator, const struct kube_object *image,
             const struct bound_volume *origin, const struct transfer_view *view,
             int64_t *ret_again_ms, struct error **err)
{
  if (origin->handle)
    return write_creating(populator, image, "the volume is cloned",
                          one_member("virtualSize", json_object_new_int64((int64_t)origin->bytes)),
                          err);
  switch (view->state) {
  case TRANSFER_NONE:
    return start_inspection(populator, image, err);
  case TRANSFER_FAILED:
    return take_failure(populator, image, view, ret_again_ms, err);
  case TRANSFER_DONE:
    return take_inspection(populator, image, view, err);
  default:
    return view->trouble ? write_creating(populator, image, view->trouble, NULL, err) : 0;
  }
}

static int
step_with(struct populator *populator, const struct kube_object *image,
          const struct bound_volume *origin, struct transfer_view *view, int64_t *ret_again_ms,
          struct error **err)
{
  int64_t virtual_bytes = json_number(image->json, "status", "virtualSize");
  if (virtual_bytes == 0)
    return step_inspect(populator, image, origin, view, ret_again_ms, err);
  struct image_claim claim;
  if (image_claim_open(populator, image, virtual_bytes > 0 ? (uint64_t)virtual_bytes : 0, &claim,
                       err) < 0)
    return -1;
  claim.origin = xstrdup(origin->handle);
  int r = step_import(populator, image, &claim, view, ret_again_ms, err);
  image_claim_clear(&claim);
  return r;
}

static int
step(struct populator *populator, const struct kube_object *image, struct transfer_view *view,
     int64_t *ret_again_ms, struct error **err)
{
  struct bound_volume origin = {0};
  struct upload_record upload;
  const char *claim = json_text(image->json, "spec", "source", "pvc", "name");
  upload_record_look(image, &upload);
  if (upload_record_is_source(image) && !upload_record_is_complete(image))
    return upload.size ? 0 /* whoever receives it tells of it */
                       : write_creating(populator, image, "waits for its upload, docs/upload.md",
                                        NULL, err);
  if (claim &&
      bound_volume_find(populator, image->ns, claim, "spec.source.pvc.name", &origin, err) < 0)
    return -1;
  int r = step_with(populator, image, &origin, view, ret_again_ms, err);
  bound_volume_clear(&origin);
  return r;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

/* The image goes: its import stops, its snapshot and volume are removed. */
static int
clean_up(struct populator *populator, const struct kube_object *image, struct error **err)
{
  CLEANUP(freep) char *key = transfer_key(image);
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

/* Another source, checksum or class while it is being imported: from the start. */
static int
start_over(struct populator *populator, const struct kube_object *image, struct error **err)
{
  CLEANUP(freep) char *key = transfer_key(image);
  transfers_forget(populator->transfers, key);
  if (image_claim_remove(populator, image, json_text(image->json, "status", "volumeHandle"), err) <
          0 ||
      upload_record_discard(populator, &image_upload, image, err) < 0)
    return -1;
  return write_creating(populator, image, "begins anew: the image was changed", no_members(), err);
}

/* How the transfer of this step fares. One of an earlier step, which another populator has done in
 * our place, says nothing: it goes. */
static int
look(struct populator *populator, const struct kube_object *image, struct transfer_view *ret_view,
     struct error **err)
{
  CLEANUP(freep) char *key = transfer_key(image);
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
    r = step(populator, image, &view, ret_again_ms, &failure);
  transfer_view_clear(&view);
  if (r == 0)
    return 0;
  if (failure->code == ERROR_INVALID_ARGUMENT || failure->code == ERROR_FAILED_PRECONDITION ||
      failure->code == ERROR_OUT_OF_RANGE)
    return give_up(populator, image, failure->message, err);
  if (failure->code == ERROR_UNAVAILABLE) { /* something is missing that may come */
    kube_event_tell(populator->events, kind, image, KUBE_EVENT_WARNING, "Waiting", "%s",
                    failure->message);
    *ret_again_ms = WAITING_MS;
    return write_creating(populator, image, failure->message, NULL, err);
  }
  return error_set(err, failure->code, "%s", failure->message);
}

static int
reconcile(struct populator *populator, const struct kube_object *image, int64_t *ret_again_ms,
          struct error **err)
{
  CLEANUP(freep) char *key = transfer_key(image);
  const char *state = condition_state(image);
  bool is_seen = json_number(image->json, "status", "observedGeneration") == image->generation;
  if (populator->node)
    return host_image_reconcile(populator, image, ret_again_ms, err);
  if (image->is_deleting)
    return kube_object_has_finalizer(image, FINALIZER_CLEANUP) ? clean_up(populator, image, err)
                                                               : 0;
  if (strcmp(state, "Available") == 0 || (strcmp(state, "Error") == 0 && is_seen)) {
    transfers_forget(populator->transfers, key);
    return 0;
  }
  if (!kube_object_has_finalizer(image, FINALIZER_CLEANUP))
    return kube_add_finalizer(populator->client, kind, image, FINALIZER_CLEANUP, err);
  if (*state && !is_seen)
    return start_over(populator, image, err);
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
