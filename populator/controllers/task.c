/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/task.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/objects/condition.h"
#include "populator/objects/retry.h"

#define RETRIES 5
#define PENDING_MS 10000

/* One call on its way. */
struct tasking {
  const struct task *task;
  struct populator *populator;
  const struct kube_object *object;
  char *key;
};

/* `more` is merged into the status and is taken; it may be NULL. */
static int
write_status(const struct tasking *t, const char *state, const char *reason, const char *message,
             struct json_object *more, struct error **err)
{
  const struct verdict verdict = {.state = state,
                                  .reason = reason,
                                  .message = message,
                                  .is_ready = strcmp(state, "Completed") == 0};
  struct json_object *status = condition_status(t->object, &verdict);
  if (more) {
    json_object_object_foreach(more, name, value)
        json_object_object_add(status, name, json_object_get(value));
    json_object_put(more);
  }
  return kube_patch_status(t->populator->client, t->task->controller->kind, t->object, status, err);
}

/* There is no next attempt. */
static struct json_object *
over(const struct tasking *t, const char *progress)
{
  struct json_object *more = json_object_new_object();
  if (progress)
    json_put_text(more, progress, "progress");
  retry_clear(t->object, more);
  return more;
}

static int
fail(const struct tasking *t, const char *message, struct error **err)
{
  if (write_status(t, "Error", t->task->error, message, over(t, NULL), err) < 0)
    return -1;
  kube_event_tell(t->populator->events, t->task->controller->kind, t->object, KUBE_EVENT_WARNING,
                  t->task->error, "%s", message);
  transfers_forget(t->populator->transfers, t->key);
  return 0;
}

static int
complete(const struct tasking *t, struct error **err)
{
  if (write_status(t, "Completed", t->task->completed, "", over(t, "100.0%"), err) < 0)
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
      return write_status(t, "Pending", t->task->pending, failure->message, NULL, err);
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
  /* A later attempt is told of when it runs: until then the reason of the last one is shown. */
  return json_number(t->object->json, "status", "attempts") > 0
             ? 0
             : write_status(t, "Creating", t->task->creating, "it has begun", NULL, err);
}

static int
take_failure(const struct tasking *t, const struct transfer_view *view, struct error **err)
{
  int64_t attempts = json_number(t->object->json, "status", "attempts") + 1;
  if (!retry_may_pass(view->code) || attempts > RETRIES)
    return fail(t, view->message, err);
  struct json_object *more = json_object_new_object();
  json_put_at(more, json_object_new_int64(attempts), "attempts");
  CLEANUP(freep) char *message = retry_put(t->object, attempts, view->message, more);
  if (write_status(t, "Creating", t->task->creating, message, more, err) < 0)
    return -1;
  kube_event_tell(t->populator->events, t->task->controller->kind, t->object, KUBE_EVENT_WARNING,
                  "Retried", "%s", message);
  transfers_forget(t->populator->transfers, t->key);
  return 0; /* the change of the status calls again, and then it waits */
}

static int
write_progress(const struct tasking *t, const struct transfer_view *view, struct error **err)
{
  CLEANUP(freep) char *progress = xasprintf("%.1f%%", view->percent);
  struct json_object *more = json_object_new_object();
  json_put_text(more, progress, "progress");
  retry_clear(t->object, more);
  return write_status(t, "Creating", t->task->creating, "it is under way", more, err);
}

static int
step(const struct tasking *t, const struct transfer_view *view, int64_t *ret_again_ms,
     struct error **err)
{
  switch (view->state) {
  case TRANSFER_NONE:
    return start(t, ret_again_ms, err);
  case TRANSFER_FAILED:
    return take_failure(t, view, err);
  case TRANSFER_DONE:
    return complete(t, err);
  case TRANSFER_RUNNING:
    return view->percent < 0 ? 0 : write_progress(t, view, err);
  default:
    return 0;
  }
}

static int
advance(const struct tasking *t, int64_t *ret_again_ms, struct error **err)
{
  int64_t wait_ms = retry_wait_ms(t->object);
  CLEANUP(transfer_view_clear) struct transfer_view view;
  transfers_look(t->populator->transfers, t->key, &view);
  if (wait_ms == 0 || transfer_view_is_begun(&view))
    return step(t, &view, ret_again_ms, err);
  transfers_forget(t->populator->transfers, t->key);
  *ret_again_ms = wait_ms;
  return 0;
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
