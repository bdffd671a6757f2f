/* SPDX-License-Identifier: Apache-2.0 */
/* The steps are found by looking: no claim, then the source is inspected; no transfer, then one is
 * begun. A volume is asked for by the claim's uid and is the same each time, so nothing needs to be
 * remembered. */
#include "populator/controllers/data_volume_import.h"

#include <inttypes.h>

#include "lib/base/memory.h"
#include "populator/controllers/cron_imports.h"
#include "populator/controllers/data_volume_claim.h"
#include "populator/controllers/data_volume_status.h"
#include "populator/controllers/data_volume_upload.h"
#include "populator/controllers/failure_field.h"
#include "populator/controllers/image_claim.h"
#include "populator/controllers/import_source.h"
#include "populator/objects/image_labels.h"
#include "populator/objects/quantity.h"
#include "populator/objects/retry.h"
#include "populator/work/volumes.h"

#define RETRIES 12
/* Of one look at the source. */
#define INSPECT_RETRIES 3
#define INSPECT_STALL_S 15

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

/* What a transfer is about: of another claim it is another one. To be freed. */
static char *
about_of(const struct kube_object *volume, const struct kube_object *claim)
{
  return xasprintf("%" PRId64 " %s", volume->generation, claim ? claim->uid : "inspect");
}

/* claim NULL: the source is looked at. */
static int
start(struct populator *populator, const struct kube_object *volume,
      const struct kube_object *claim, const char *target, struct error **err)
{
  CLEANUP(freep) char *key = transfer_key(volume);
  CLEANUP(freep) char *lease = xasprintf("volume-%s", volume->uid);
  CLEANUP(freep) char *about = about_of(volume, claim);
  const struct transfer_order order = {key, lease, claim ? "import" : "inspect", about};
  struct json_object *source = json_at(volume->json, "spec", "source");
  bool is_upload = data_volume_spec_kind(volume) == DATA_VOLUME_UPLOAD;
  const char *checksum = is_upload ? json_text(volume->json, "status", "upload", "checksum")
                                   : json_text(source, "http", "checksum");
  struct json_object *job;
  if ((is_upload ? data_volume_upload_job(populator, volume, &job, err)
                 : import_source_job(populator, volume->ns, source, "spec.source", &job, err)) < 0)
    return -1;
  const char *identity = kube_object_annotation(volume, ANNOTATION_IDENTITY);
  if (identity && !is_upload)
    json_put_text(job, identity, "identity");
  if (!target) { /* it is tried again anyway, and others wait for the place */
    json_put_at(job, json_object_new_int(INSPECT_RETRIES), "retries");
    json_put_at(job, json_object_new_int(INSPECT_STALL_S), "stall");
  } else {
    json_object_array_add(json_at(job, "arguments"), json_object_new_string(target));
    json_put_at(job, json_object_new_boolean(true), "existing");
    CLEANUP(freep) char *token = xasprintf("%s %" PRId64, volume->uid, volume->generation);
    if (!is_upload)
      json_put_text(job, token, "token");
    if (checksum && *checksum)
      json_put_text(job, checksum, "checksum");
  }
  transfers_start(populator->transfers, &order, job);
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
  char *reason = failure_field_tell(volume, "spec.source.http.checksum", view->message);
  CLEANUP(freep)
  char *message = is_final ? xstrdup(reason) : retry_put(volume, failures, reason, more);
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
                  is_final ? "ImportFailed" : "ImportRetried", "%s",
                  reason); /* without the time: the same is counted */
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

/* The transfer of this step. One that waits for its turn while a pause is to be kept goes: false,
 * to be looked at again behind that. */
static bool
look(struct populator *populator, const struct kube_object *volume, const struct kube_object *claim,
     struct transfer_view *ret_view, int64_t *ret_again_ms)
{
  CLEANUP(freep) char *key = transfer_key(volume);
  CLEANUP(freep) char *about = about_of(volume, claim);
  int64_t wait_ms = retry_wait_ms(volume);
  transfers_look(populator->transfers, key, about, ret_view);
  if (wait_ms == 0 || transfer_view_is_begun(ret_view))
    return true;
  transfer_view_clear(ret_view);
  transfers_forget(populator->transfers, key);
  *ret_again_ms = wait_ms;
  return false;
}

int
data_volume_import_prepare(struct populator *populator, const struct kube_object *volume,
                           int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(transfer_view_clear) struct transfer_view view;
  if (!look(populator, volume, NULL, &view, ret_again_ms))
    return 0;
  switch (view.state) {
  case TRANSFER_NONE:
    return start(populator, volume, NULL, NULL, err);
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

int
data_volume_import_volume(struct populator *populator, const struct kube_object *claim,
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
  if (data_volume_import_volume(populator, claim, storage_class, &made, err) < 0)
    return -1;
  CLEANUP(freep) char *target = xasprintf("volume:%s", made.handle);
  made_volume_clear(&made);
  return start(populator, volume, claim, target, err);
}

/* All bytes are there: the claim gets its volume. */
static int
finish(struct populator *populator, const struct kube_object *volume,
       const struct kube_object *claim, const struct kube_object *storage_class, struct error **err)
{
  struct made_volume made = {0};
  const struct image_claim bound = {(struct kube_object *)claim,
                                    (struct kube_object *)storage_class, 0, NULL};
  int r = data_volume_import_volume(populator, claim, storage_class, &made, err);
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
  if (!look(populator, volume, claim, &view, ret_again_ms))
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
