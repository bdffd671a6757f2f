/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/task.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/objects/condition.h"

#define RETRIES 5
#define PENDING_MS 10000

/* One call on its way. */
struct tasking {
  const struct task *task;
  struct populator *populator;
  const struct kube_object *object;
  char *key;
};

static int
write_status(const struct tasking *t, const char *state, const char *reason, const char *message,
             const char *progress, int64_t attempts, struct error **err)
{
  const struct verdict verdict = {.state = state,
                                  .reason = reason,
                                  .message = message,
                                  .is_ready = strcmp(state, "Completed") == 0};
  struct json_object *status = condition_status(t->object, &verdict);
  if (progress)
    json_put_text(status, progress, "progress");
  if (attempts > 0)
    json_put_at(status, json_object_new_int64(attempts), "attempts");
  return kube_patch_status(t->populator->client, t->task->controller->kind, t->object, status, err);
}

static int
fail(const struct tasking *t, const char *message, struct error **err)
{
  if (write_status(t, "Error", t->task->error, message, NULL, 0, err) < 0)
    return -1;
  kube_event_tell(t->populator->events, t->task->controller->kind, t->object, KUBE_EVENT_WARNING,
                  t->task->error, "%s", message);
  transfers_forget(t->populator->transfers, t->key);
  return 0;
}

static int
complete(const struct tasking *t, struct error **err)
{
  if (write_status(t, "Completed", t->task->completed, "", "100.0%", 0, err) < 0)
    return -1;
  kube_event_tell(t->populator->events, t->task->controller->kind, t->object, KUBE_EVENT_NORMAL,
                  t->task->completed, "done");
  transfers_forget(t->populator->transfers, t->key);
  return 0;
}

static int
start(const struct tasking *t, int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct json_object *job;
  if (t->task->job(t->populator, t->object, &job, &failure) < 0) {
    if (failure->code == ERROR_UNAVAILABLE) {
      *ret_again_ms = PENDING_MS;
      return write_status(t, "Pending", t->task->pending, failure->message, NULL, 0, err);
    }
    if (failure->code == ERROR_INVALID_ARGUMENT || failure->code == ERROR_FAILED_PRECONDITION)
      return fail(t, failure->message, err);
    return error_set(err, failure->code, "%s", failure->message);
  }
  CLEANUP(freep)
  char *lease = xasprintf("%s-%s", t->task->controller->name, t->object->uid);
  json_put_at(job, json_object_new_boolean(true), "json");
  json_put_text(job, t->populator->clusters_file, "clusters");
  transfers_start(t->populator->transfers, t->key, lease, t->task->verb, job);
  return write_status(t, "Creating", t->task->creating, "it has begun", NULL, 0, err);
}

static bool
may_pass(enum error_code code)
{
  return code == ERROR_UNAVAILABLE || code == ERROR_DEADLINE_EXCEEDED || code == ERROR_ABORTED ||
         code == ERROR_CANCELLED || code == ERROR_RESOURCE_EXHAUSTED || code == ERROR_UNKNOWN;
}

static int
take_failure(const struct tasking *t, const struct transfer_view *view, int64_t *ret_again_ms,
             struct error **err)
{
  int64_t attempts = json_number(t->object->json, "status", "attempts") + 1;
  if (!may_pass(view->code) || attempts > RETRIES)
    return fail(t, view->message, err);
  CLEANUP(freep)
  char *message =
      xasprintf("attempt %" PRId64 " failed, once more soon: %s", attempts, view->message);
  if (write_status(t, "Creating", t->task->creating, message, NULL, attempts, err) < 0)
    return -1;
  transfers_forget(t->populator->transfers, t->key);
  *ret_again_ms = 1000LL << attempts;
  return 0;
}

static int
advance(const struct tasking *t, int64_t *ret_again_ms, struct error **err)
{
  struct transfer_view view;
  int r = 0;
  transfers_look(t->populator->transfers, t->key, &view);
  if (view.state == TRANSFER_NONE) {
    r = start(t, ret_again_ms, err);
  } else if (view.state == TRANSFER_FAILED) {
    r = take_failure(t, &view, ret_again_ms, err);
  } else if (view.state == TRANSFER_DONE) {
    r = complete(t, err);
  } else if (view.state == TRANSFER_RUNNING && view.percent >= 0) {
    CLEANUP(freep) char *progress = xasprintf("%.1f%%", view.percent);
    r = write_status(t, "Creating", t->task->creating, "it is under way", progress, 0, err);
  }
  transfer_view_clear(&view);
  return r;
}

int
task_reconcile(const struct task *task, struct populator *populator,
               const struct kube_object *object, int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(freep) char *key = populator_key(task->controller, object->ns, object->name);
  const struct tasking t = {.task = task, .populator = populator, .object = object, .key = key};
  const char *state = condition_state(object);
  bool is_over = strcmp(state, "Completed") == 0 || strcmp(state, "Error") == 0;
  if (object->is_deleting || is_over)
    transfers_forget(populator->transfers, key);
  if (object->is_deleting)
    return kube_remove_finalizer(populator->client, task->controller->kind, object,
                                 FINALIZER_CLEANUP, err);
  if (is_over)
    return 0;
  if (!kube_object_has_finalizer(object, FINALIZER_CLEANUP))
    return kube_add_finalizer(populator->client, task->controller->kind, object, FINALIZER_CLEANUP,
                              err);
  return advance(&t, ret_again_ms, err);
}
