/* SPDX-License-Identifier: Apache-2.0 */
/* VirtualMachineVolumeRollback: a volume goes back to one of its snapshots, in place, once. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/bound_volume.h"
#include "populator/controllers/task.h"

/* The handle of the snapshot in Ceph; to be freed. */
static int
find_snapshot(struct populator *populator, const char *ns, const char *name, char **ret_handle,
              struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *snapshot = NULL;
  CLEANUP(kube_object_releasep) struct kube_object *content = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_get(populator->client, &kube_volume_snapshots, ns, name, &snapshot, &failure) < 0) {
    if (failure->code == ERROR_NOT_FOUND)
      return error_set(err, ERROR_UNAVAILABLE,
                       "spec.volumeSnapshotName: there is no VolumeSnapshot '%s/%s'", ns, name);
    return error_set(err, failure->code, "spec.volumeSnapshotName: %s", failure->message);
  }
  const char *content_name = json_text(snapshot->json, "status", "boundVolumeSnapshotContentName");
  if (!content_name || !json_flag(snapshot->json, "status", "readyToUse"))
    return error_set(err, ERROR_UNAVAILABLE,
                     "spec.volumeSnapshotName: VolumeSnapshot '%s/%s' is not ready to use", ns,
                     name);
  if (kube_get(populator->client, &kube_volume_snapshot_contents, NULL, content_name, &content,
               err) < 0)
    return -1;
  const char *driver = json_text(content->json, "spec", "driver");
  const char *handle = json_text(content->json, "status", "snapshotHandle");
  if (!driver || !handle || strcmp(driver, populator->driver) != 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "spec.volumeSnapshotName: VolumeSnapshot '%s/%s' is of another driver", ns,
                     name);
  *ret_handle = xstrdup(handle);
  return 0;
}

static int
make_job(struct populator *populator, const struct kube_object *object,
         struct json_object **ret_job, struct error **err)
{
  const char *claim = json_text(object->json, "spec", "pvcName");
  const char *snapshot_name = json_text(object->json, "spec", "volumeSnapshotName");
  if (!claim || !snapshot_name)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "spec.pvcName and spec.volumeSnapshotName are needed");
  struct bound_volume volume = {0};
  CLEANUP(freep) char *snapshot = NULL;
  if (bound_volume_find(populator, object->ns, claim, "spec.pvcName", &volume, err) < 0)
    return -1;
  int r = find_snapshot(populator, object->ns, snapshot_name, &snapshot, err);
  if (r == 0) {
    CLEANUP(freep) char *target = xasprintf("volume:%s", volume.handle);
    CLEANUP(freep) char *size = xasprintf("%llu", (unsigned long long)volume.bytes);
    struct json_object *arguments = json_object_new_array();
    json_object_array_add(arguments, json_object_new_string(target));
    json_object_array_add(arguments, json_object_new_string(snapshot));
    *ret_job = json_object_new_object();
    json_put_at(*ret_job, arguments, "arguments");
    json_put_text(*ret_job, size, "size");
  }
  bound_volume_clear(&volume);
  return r;
}

static int
is_snapshot_gone(struct populator *populator, const struct kube_object *object, bool *ret_is,
                 struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *snapshot = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  *ret_is =
      kube_get(populator->client, &kube_volume_snapshots, object->ns,
               json_text(object->json, "spec", "volumeSnapshotName"), &snapshot, &failure) < 0;
  if (*ret_is && failure->code != ERROR_NOT_FOUND)
    return error_set(err, failure->code, "%s", failure->message);
  return 0;
}

static int
is_lost(struct populator *populator, const struct kube_object *object, bool *ret_is,
        struct error **err)
{
  CLEANUP(kube_object_releasep)
  struct kube_object *claim =
      kube_mirror_get(populator->claims, object->ns, json_text(object->json, "spec", "pvcName"));
  const char *phase = claim ? json_text(claim->json, "status", "phase") : NULL;
  *ret_is = !claim || (phase && strcmp(phase, "Lost") == 0);
  return *ret_is ? 0 : is_snapshot_gone(populator, object, ret_is, err);
}

static const struct task task = {
    .controller = &rollback_controller,
    .verb = TASK_ROLLBACK,
    .pending = "RollbackIsPending",
    .creating = "RollbackIsUnderWay",
    .completed = "RollbackIsCompleted",
    .error = "RollbackIsInError",
    .done = "the volume is as its snapshot has it",
    .job = make_job,
    .is_lost = is_lost,
};

static int
reconcile(struct populator *populator, const struct kube_object *object, int64_t *ret_again_ms,
          struct error **err)
{
  return task_reconcile(&task, populator, object, ret_again_ms, err);
}

const struct controller rollback_controller = {
    .name = "rollback", .kind = &virtual_machine_volume_rollbacks, .reconcile = reconcile};

void
rollback_changed(void *context, const struct kube_object *before, const struct kube_object *after)
{
  const struct kube_object *object = after ? after : before;
  populator_wake(context, &rollback_controller, object->ns, object->name);
}
