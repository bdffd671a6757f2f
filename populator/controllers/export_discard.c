/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/export_discard.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/kube/kube_time.h"
#include "populator/controllers/export_destination.h"
#include "populator/controllers/task.h"
#include "populator/objects/condition.h"

static const struct kube_kind *const kind = &virtual_machine_volume_exports;

/* How long it has been deleted. */
static int64_t
deleted_for_s(const struct kube_object *object)
{
  time_t at;
  if (kube_time_parse(json_text(object->json, "metadata", "deletionTimestamp"), &at) < 0)
    return 0;
  return (int64_t)time(NULL) - (int64_t)at;
}

/* A Secret that is gone is no reason to wait: mostly there is nothing to be removed. */
static void
start(struct populator *populator, const struct kube_object *object, const char *volume)
{
  struct json_object *job = json_object_new_object();
  struct json_object *arguments = json_object_new_array();
  CLEANUP(freep) char *source = xasprintf("volume:%s", volume);
  json_object_array_add(arguments, json_object_new_string(source));
  json_put_at(job, arguments, "arguments");
  (void)export_destination_add(populator, object, job, NULL);
  if (deleted_for_s(object) >= populator->discard_s)
    json_put_at(job, json_object_new_boolean(true), "forget");
  task_start(populator, &export_controller, object, TASK_DISCARD, job);
}

static void
tell_left(struct populator *populator, const struct kube_object *object, const char *what)
{
  kube_event_tell(populator->events, kind, object, KUBE_EVENT_WARNING, "NotCleanedUp",
                  "%s: the export was deleted %lld s ago and is given up", what,
                  (long long)deleted_for_s(object));
}

/* Once more after a pause. Where not even Ceph answers, nothing can be known. */
static int
take_failure(struct populator *populator, const struct kube_object *object, const char *key,
             const struct transfer_view *view, bool *ret_is_clean, int64_t *ret_again_ms)
{
  *ret_is_clean =
      deleted_for_s(object) >= 2 * populator->discard_s + EXPORT_DISCARD_PAUSE_MS / 1000;
  kube_event_tell(populator->events, kind, object, KUBE_EVENT_WARNING, "CleanUpRetried", "%s",
                  view->message);
  if (*ret_is_clean)
    tell_left(populator, object, view->message);
  transfers_forget(populator->transfers, key);
  (void)recent_add(populator->discarded, object->uid);
  *ret_again_ms = EXPORT_DISCARD_PAUSE_MS;
  return 0;
}

static bool
is_pausing(struct populator *populator, const struct kube_object *object, int64_t *ret_again_ms)
{
  int64_t left_ms = recent_left_ms(populator->discarded, object->uid);
  if (left_ms > 0)
    *ret_again_ms = left_ms;
  return left_ms > 0;
}

int
export_discard(struct populator *populator, const struct kube_object *object, bool *ret_is_clean,
               int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(freep) char *key = populator_key(&export_controller, object->ns, object->name);
  CLEANUP(transfer_view_clear) struct transfer_view view = {0};
  const char *volume = json_text(object->json, "status", "volumeHandle");
  (void)err;
  *ret_is_clean = !volume || strcmp(condition_state(object), "Completed") == 0;
  if (*ret_is_clean || is_pausing(populator, object, ret_again_ms))
    return 0;
  transfers_look(populator->transfers, key, TASK_DISCARD, &view);
  switch (view.state) {
  case TRANSFER_NONE: /* one that exported was stopped by this */
    start(populator, object, volume);
    return 0;
  case TRANSFER_FAILED:
    return take_failure(populator, object, key, &view, ret_is_clean, ret_again_ms);
  case TRANSFER_DONE:
    if (json_text(view.result, "left"))
      tell_left(populator, object, json_text(view.result, "left"));
    *ret_is_clean = true;
    return 0;
  default:
    return 0;
  }
}
