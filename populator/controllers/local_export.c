/* SPDX-License-Identifier: Apache-2.0 */
/* The volume is on record before the snapshot is taken, and the snapshot is named after the export:
 * so one that was taken by a process which died then is found again, and removed. */
#include "populator/controllers/local_export.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/bound_volume.h"
#include "populator/controllers/export_source.h"
#include "populator/objects/condition.h"
#include "populator/objects/quantity.h"
#include "populator/work/volumes.h"

#define PENDING_MS 10000

static const struct kube_kind *const kind = &virtual_machine_volume_exports;

bool
local_export_is(const struct kube_object *object)
{
  return json_at(object->json, "spec", "destination", "local") != NULL;
}

bool
local_export_is_raw(const struct kube_object *object)
{
  const char *format = json_text(object->json, "spec", "format");
  return format && strcmp(format, "raw") == 0;
}

struct json_object *
local_export_job(const struct kube_object *object)
{
  struct json_object *job = json_object_new_object();
  struct json_object *arguments = json_object_new_array();
  CLEANUP(freep)
  char *source = xasprintf("snapshot:%s", json_text(object->json, "status", "snapshotHandle"));
  json_object_array_add(arguments, json_object_new_string(source));
  json_put_at(job, arguments, "arguments");
  json_put_at(job, json_object_new_boolean(true), "json");
  json_put_text(job, local_export_is_raw(object) ? "raw" : "qcow2", "format");
  /* What is compressed has to be compressed once before the first byte, to know where all is. */
  bool is_compressed = json_flag(object->json, "spec", "compress");
  if (!local_export_is_raw(object))
    json_put_text(job, is_compressed ? "zlib" : "none", "compress");
  return job;
}

/* `more` is merged into the status and is taken; it may be NULL. */
static int
write_status(struct populator *populator, const struct kube_object *object,
             const struct verdict *verdict, struct json_object *more, struct error **err)
{
  struct json_object *status = condition_status(object, verdict);
  condition_put_ready(verdict, status);
  if (more) {
    json_object_object_foreach(more, name, value)
        json_object_object_add(status, name, json_object_get(value));
    json_object_put(more);
  }
  return kube_patch_status(populator->client, kind, object, status, err);
}

static int
fail(struct populator *populator, const struct kube_object *object, const char *message,
     struct error **err)
{
  const struct verdict verdict = {
      .state = "Error", .reason = "VmvExportIsInError", .message = message};
  if (write_status(populator, object, &verdict, NULL, err) < 0)
    return -1;
  kube_event_tell(populator->events, kind, object, KUBE_EVENT_WARNING, verdict.reason, "%s",
                  message);
  return 0;
}

/* What may pass is told, and looked at again. */
static int
take_failure(struct populator *populator, const struct kube_object *object,
             const struct error *failure, int64_t *ret_again_ms, struct error **err)
{
  if (failure->code == ERROR_INVALID_ARGUMENT || failure->code == ERROR_FAILED_PRECONDITION)
    return fail(populator, object, failure->message, err);
  if (failure->code == ERROR_ABORTED || failure->code == ERROR_CANCELLED)
    return error_set(err, failure->code, "%s", failure->message);
  const struct verdict pending = {
      .state = "Pending", .reason = "VmvExportIsInPending", .message = failure->message};
  *ret_again_ms = PENDING_MS;
  kube_event_tell(populator->events, kind, object, KUBE_EVENT_WARNING, pending.reason, "%s",
                  failure->message);
  return write_status(populator, object, &pending, NULL, err);
}

/* ---- the steps --------------------------------------------------------------------------------
 */

static int
find_volume(struct populator *populator, const struct kube_object *object, int64_t *ret_again_ms,
            struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct bound_volume volume = {0};
  char size[QUANTITY_TEXT_BYTES];
  if (export_source_find(populator, object, &volume, &failure) < 0)
    return take_failure(populator, object, failure, ret_again_ms, err);
  const struct verdict creating = {
      .state = "Creating", .reason = "VmvExportIsCreating", .message = "a snapshot is taken"};
  struct json_object *more = json_object_new_object();
  json_put_text(more, volume.handle, "volumeHandle");
  json_put_text(more, quantity_text(volume.bytes, size), "size");
  bound_volume_clear(&volume);
  return write_status(populator, object, &creating, more, err);
}

static int
take_snapshot(struct populator *populator, const struct kube_object *object, char **ret_handle,
              struct error **err)
{
  CLEANUP(freep) char *name = xasprintf("export-%s", object->uid);
  return volumes_snapshot(populator->controller, name,
                          json_text(object->json, "status", "volumeHandle"), ret_handle, err);
}

static int
complete(struct populator *populator, const struct kube_object *object, int64_t *ret_again_ms,
         struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(freep) char *handle = NULL;
  if (take_snapshot(populator, object, &handle, &failure) < 0)
    return failure->code == ERROR_NOT_FOUND
               ? fail(populator, object, failure->message, err)
               : take_failure(populator, object, failure, ret_again_ms, err);
  CLEANUP(freep)
  char *url = xasprintf("%s/v1/namespaces/%s/exports/%s", populator->download_url, object->ns,
                        object->name);
  struct json_object *more = json_object_new_object();
  json_put_text(more, handle, "snapshotHandle");
  json_put_text(more, url, "url");
  json_put_text(more, url, "destination");
  json_put_text(more, "100.0%", "progress");
  const struct verdict verdict = {.state = "Completed",
                                  .reason = "VmvExportIsReady",
                                  .message = "fetch it from status.url, docs/export.md",
                                  .is_ready = true};
  if (write_status(populator, object, &verdict, more, err) < 0)
    return -1;
  kube_event_tell(populator->events, kind, object, KUBE_EVENT_NORMAL, verdict.reason,
                  "the export is kept in the cluster");
  return 0;
}

/* The export goes, and its snapshot with it. */
static int
clean_up(struct populator *populator, const struct kube_object *object, struct error **err)
{
  const char *handle = json_text(object->json, "status", "snapshotHandle");
  CLEANUP(freep) char *found = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (!handle && json_text(object->json, "status", "volumeHandle")) {
    if (take_snapshot(populator, object, &found, &failure) < 0 && failure->code != ERROR_NOT_FOUND)
      return error_set(err, failure->code, "%s", failure->message);
    handle = found;
  }
  if (handle && volumes_delete_snapshot(populator->controller, handle, err) < 0)
    return -1;
  return kube_remove_finalizer(populator->client, kind, object, FINALIZER_CLEANUP, err);
}

int
local_export_reconcile(struct populator *populator, const struct kube_object *object,
                       int64_t *ret_again_ms, struct error **err)
{
  const char *state = condition_state(object);
  if (object->is_deleting)
    return kube_object_has_finalizer(object, FINALIZER_CLEANUP) ? clean_up(populator, object, err)
                                                                : 0;
  if (strcmp(state, "Completed") == 0 || strcmp(state, "Error") == 0)
    return 0;
  if (!populator->download_url)
    return fail(
        populator, object,
        "spec.destination.local: nobody could fetch it: set populator.upload.enabled in the "
        "chart's values, or name an object store",
        err);
  if (!kube_object_has_finalizer(object, FINALIZER_CLEANUP))
    return kube_add_finalizer(populator->client, kind, object, FINALIZER_CLEANUP, err);
  if (!json_text(object->json, "status", "volumeHandle"))
    return find_volume(populator, object, ret_again_ms, err);
  return complete(populator, object, ret_again_ms, err);
}
