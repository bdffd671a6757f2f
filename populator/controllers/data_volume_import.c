/* SPDX-License-Identifier: Apache-2.0 */
/* The steps are found by looking: no claim, then the source is inspected; no transfer, then one is
 * begun. A volume is asked for by the claim's uid and is the same each time, so nothing needs to be
 * remembered. */
#include "populator/controllers/data_volume_import.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/data_volume_claim.h"
#include "populator/controllers/data_volume_status.h"
#include "populator/controllers/data_volume_upload.h"
#include "populator/controllers/image_claim.h"
#include "populator/controllers/import_source.h"
#include "populator/objects/image_labels.h"
#include "populator/objects/quantity.h"
#include "populator/objects/retry.h"
#include "populator/work/volumes.h"

#define RETRIES 12

static char *
transfer_key(const struct kube_object *volume)
{
  return populator_key(&data_volume_controller, volume->ns, volume->name);
}

void
data_volume_import_forget(struct populator *populator, const struct kube_object *volume)
{
  CLEANUP(freep) char *key = transfer_key(volume);
  transfers_forget(populator->transfers, key);
}

static int
start(struct populator *populator, const struct kube_object *volume, const char *verb,
      const char *target, struct error **err)
{
  CLEANUP(freep) char *key = transfer_key(volume);
  CLEANUP(freep) char *lease = xasprintf("volume-%s", volume->uid);
  struct json_object *source = json_at(volume->json, "spec", "source");
  bool is_upload = data_volume_spec_kind(volume) == DATA_VOLUME_UPLOAD;
  const char *checksum = is_upload ? json_text(volume->json, "status", "upload", "checksum")
                                   : json_text(source, "http", "checksum");
  struct json_object *job;
  if ((is_upload ? data_volume_upload_job(populator, volume, &job, err)
                 : import_source_job(populator, volume->ns, source, &job, err)) < 0)
    return -1;
  if (target) {
    json_object_array_add(json_at(job, "arguments"), json_object_new_string(target));
    json_put_at(job, json_object_new_boolean(true), "existing");
    if (checksum)
      json_put_text(job, checksum, "checksum");
  }
  transfers_start(populator->transfers, key, lease, verb, job);
  return 0;
}

/* ---- failures ---------------------------------------------------------------------------------
 */

static int
take_failure(struct populator *populator, const struct kube_object *volume,
             const struct kube_object *claim, const struct transfer_view *view, struct error **err)
{
  int64_t failures = json_number(volume->json, "status", "restartCount") + 1;
  bool is_final = !retry_may_pass(view->code) || failures > RETRIES;
  if (is_final && data_volume_upload_end(populator, volume, err) < 0)
    return -1;
  struct json_object *more = json_object_new_object();
  CLEANUP(freep)
  char *message =
      is_final ? xstrdup(view->message) : retry_put(volume, failures, view->message, more);
  const struct data_volume_state state = {
      .phase = is_final ? "Failed" : "ImportScheduled",
      .message = message,
      .percent = -1,
      .restarts = 1,
      .more = more,
  };
  if (is_final)
    retry_clear(volume, more);
  if (data_volume_status_write(populator, volume, claim, &state, err) < 0)
    return -1;
  kube_event_tell(populator->events, &data_volumes, volume, KUBE_EVENT_WARNING,
                  is_final ? "ImportFailed" : "ImportRetried", "%s", message);
  data_volume_import_forget(populator, volume);
  return 0; /* the change of the status calls again, and then it waits */
}

static int
write_running(struct populator *populator, const struct kube_object *volume,
              const struct kube_object *claim, const struct transfer_view *view, struct error **err)
{
  bool is_running = view->state == TRANSFER_RUNNING;
  if (view->state == TRANSFER_ELSEWHERE)
    return 0; /* whoever does it tells of it */
  struct json_object *more = json_object_new_object();
  if (is_running)
    retry_clear(volume, more);
  const struct data_volume_state state = {
      .phase = is_running && claim ? "ImportInProgress" : "ImportScheduled",
      .message = !is_running     ? "waits for other transfers"
                 : view->trouble ? view->trouble
                 : claim         ? "the image is imported"
                                 : "the source is looked at",
      .percent = claim ? view->percent : -1,
      .is_running = is_running,
      .more = more,
  };
  return data_volume_status_write(populator, volume, claim, &state, err);
}

/* ---- looking at the source --------------------------------------------------------------------
 */

static int
take_inspection(struct populator *populator, const struct kube_object *volume,
                struct json_object *result, struct error **err)
{
  const char *refusal = json_text(result, "refusal");
  int64_t bytes = json_number(result, "virtualSize");
  CLEANUP(json_object_putp) struct json_object *labels = json_object_new_object();
  if (refusal)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s", refusal);
  image_labels_of_env(json_at(result, "container", "env"), labels);
  const struct data_volume_content content = {.bytes = bytes > 0 ? (uint64_t)bytes : 0,
                                              .labels = labels};
  if (data_volume_claim_make(populator, volume, &content, err) < 0)
    return -1;
  data_volume_import_forget(populator, volume);
  return 0;
}

/* The transfer of this step. One of another step, which another populator has done in our place,
 * says nothing: it goes. So does one that waits for its turn while a pause is to be kept: false, to
 * be looked at again behind that. */
static bool
look(struct populator *populator, const struct kube_object *volume, const char *verb,
     struct transfer_view *ret_view, int64_t *ret_again_ms)
{
  CLEANUP(freep) char *key = transfer_key(volume);
  int64_t wait_ms = retry_wait_ms(volume);
  transfers_look(populator->transfers, key, ret_view);
  bool is_other = ret_view->state != TRANSFER_NONE && strcmp(ret_view->verb, verb) != 0;
  bool must_wait = wait_ms > 0 && (is_other || !transfer_view_is_begun(ret_view));
  if (is_other || must_wait) {
    transfer_view_clear(ret_view);
    transfers_forget(populator->transfers, key);
  }
  if (must_wait)
    *ret_again_ms = wait_ms;
  return !must_wait;
}

int
data_volume_import_prepare(struct populator *populator, const struct kube_object *volume,
                           int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(transfer_view_clear) struct transfer_view view;
  if (!look(populator, volume, "inspect", &view, ret_again_ms))
    return 0;
  switch (view.state) {
  case TRANSFER_NONE:
    return start(populator, volume, "inspect", NULL, err);
  case TRANSFER_FAILED:
    return take_failure(populator, volume, NULL, &view, err);
  case TRANSFER_DONE:
    return take_inspection(populator, volume, view.result, err);
  default:
    return write_running(populator, volume, NULL, &view, err);
  }
}

/* ---- fetching it ------------------------------------------------------------------------------
 */

static int
make_volume(struct populator *populator, const struct kube_object *claim,
            const struct kube_object *storage_class, struct made_volume *ret_volume,
            struct error **err)
{
  const struct image_claim asked = {(struct kube_object *)claim,
                                    (struct kube_object *)storage_class, 0, NULL};
  struct image_claim sized = asked;
  if (quantity_of(json_at(claim->json, "spec", "resources", "requests", "storage"),
                  "size of the claim", &sized.bytes, err) < 0)
    return -1;
  return image_claim_volume(populator, &sized, ret_volume, err);
}

static int
begin(struct populator *populator, const struct kube_object *volume,
      const struct kube_object *claim, const struct kube_object *storage_class, struct error **err)
{
  struct made_volume made = {0};
  if (make_volume(populator, claim, storage_class, &made, err) < 0)
    return -1;
  CLEANUP(freep) char *target = xasprintf("volume:%s", made.handle);
  made_volume_clear(&made);
  return start(populator, volume, "import", target, err);
}

/* All bytes are there: the claim gets its volume. */
static int
finish(struct populator *populator, const struct kube_object *volume,
       const struct kube_object *claim, const struct kube_object *storage_class, struct error **err)
{
  struct made_volume made = {0};
  const struct image_claim bound = {(struct kube_object *)claim,
                                    (struct kube_object *)storage_class, 0, NULL};
  int r = make_volume(populator, claim, storage_class, &made, err);
  if (r == 0)
    r = image_claim_bind(populator, &bound, &made, err);
  made_volume_clear(&made);
  if (r < 0)
    return -1;
  kube_event_tell(populator->events, &data_volumes, volume, KUBE_EVENT_NORMAL, "Imported",
                  "the image is complete");
  const struct data_volume_state state = {
      .phase = "ImportInProgress", .message = "the claim is bound", .percent = 100};
  return data_volume_status_write(populator, volume, claim, &state, err);
}

int
data_volume_import_advance(struct populator *populator, const struct kube_object *volume,
                           const struct kube_object *claim, const struct kube_object *storage_class,
                           int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(transfer_view_clear) struct transfer_view view;
  if (!look(populator, volume, "import", &view, ret_again_ms))
    return 0;
  switch (view.state) {
  case TRANSFER_NONE:
    return begin(populator, volume, claim, storage_class, err);
  case TRANSFER_FAILED:
    return take_failure(populator, volume, claim, &view, err);
  case TRANSFER_DONE:
    return finish(populator, volume, claim, storage_class, err);
  default:
    return write_running(populator, volume, claim, &view, err);
  }
}
