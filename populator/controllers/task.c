/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/task.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/objects/condition.h"
#include "populator/objects/retry.h"

#define RETRIES 5
#define PENDING_MS 10000
/* Of one that runs and has not told anything yet. */
#define PROGRESS_NONE "0.0%"
/* Of a rollback that has begun, or whose worker before this one may have. */
#define PROGRESS_BEGUN "0.1%"
#define PERCENT_BEGUN 0.1

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
  if (t->task->tells_ready)
    condition_put_ready(&verdict, status);
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
complete(const struct tasking *t, const struct transfer_view *view, struct error **err)
{
  struct json_object *more = over(t, "100.0%");
  if (t->task->conclude)
    t->task->conclude(view->result, more);
  if (write_status(t, "Completed", t->task->completed, "", more, err) < 0)
    return -1;
  kube_event_tell(t->populator->events, t->task->controller->kind, t->object, KUBE_EVENT_NORMAL,
                  t->task->completed, "%s", t->task->done);
  transfers_forget(t->populator->transfers, t->key);
  return 0;
}

void
task_start(struct populator *populator, const struct controller *controller,
           const struct kube_object *object, const char *verb, struct json_object *job)
{
  CLEANUP(freep) char *key = populator_key(controller, object->ns, object->name);
  CLEANUP(freep) char *lease = xasprintf("%s-%s", controller->name, object->uid);
  const struct transfer_order order = {key, lease, verb, verb};
  json_put_at(job, json_object_new_boolean(true), "json");
  json_put_text(job, populator->clusters_file, "clusters");
  transfers_start(populator->transfers, &order, job);
}

/* Before it is so: what is to be cleaned up after it is on record then. A later attempt is told of
 * when it runs: until then the reason of the last one is shown. So is what another populator tells
 * of its own. */
static int
write_begun(const struct tasking *t, struct json_object *job, struct error **err)
{
  if (strcmp(condition_state(t->object), "Creating") == 0)
    return 0;
  struct json_object *more = json_object_new_object();
  if (t->task->describe)
    t->task->describe(job, more);
  return write_status(t, "Creating", t->task->creating, "it begins", more, err);
}

static int
release(const struct tasking *t, struct error **err)
{
  transfers_forget(t->populator->transfers, t->key);
  return kube_remove_finalizer(t->populator->client, t->task->controller->kind, t->object,
                               FINALIZER_CLEANUP, err);
}

/* One that is being deleted would wait for ever for what is gone, and its namespace with it. */
static int
give_up_if_lost(const struct tasking *t, const char *reason, bool *ret_is_given_up,
                struct error **err)
{
  *ret_is_given_up = false;
  if (!t->object->is_deleting || !t->task->is_lost)
    return 0;
  if (t->task->is_lost(t->populator, t->object, ret_is_given_up, err) < 0)
    return -1;
  if (!*ret_is_given_up)
    return 0;
  kube_event_tell(t->populator->events, t->task->controller->kind, t->object, KUBE_EVENT_WARNING,
                  "NotEnded", "%s: it was deleted and is given up, begun but not ended", reason);
  return release(t, err);
}

/* There is no job. Whatever else it is, a Secret that may not be read, say, is told: it may pass.
 */
static int
take_refusal(const struct tasking *t, const struct error *failure, int64_t *ret_again_ms,
             struct error **err)
{
  bool is_given_up;
  if (failure->code == ERROR_INVALID_ARGUMENT || failure->code == ERROR_FAILED_PRECONDITION)
    return fail(t, failure->message, err);
  if (failure->code == ERROR_ABORTED || failure->code == ERROR_CANCELLED)
    return error_set(err, failure->code, "%s", failure->message);
  if (give_up_if_lost(t, failure->message, &is_given_up, err) < 0)
    return -1;
  if (is_given_up)
    return 0;
  *ret_again_ms = PENDING_MS;
  kube_event_tell(t->populator->events, t->task->controller->kind, t->object, KUBE_EVENT_WARNING,
                  t->task->pending, "%s", failure->message);
  return write_status(t, "Pending", t->task->pending, failure->message, NULL, err);
}

static int
start(const struct tasking *t, int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct json_object *job;
  if (t->task->job(t->populator, t->object, &job, &failure) < 0)
    return take_refusal(t, failure, ret_again_ms, err);
  if (write_begun(t, job, err) < 0) {
    json_object_put(job);
    return -1;
  }
  task_start(t->populator, t->task->controller, t->object, t->task->verb, job);
  return 0;
}

static const char *
progress_of(const struct kube_object *object)
{
  return json_text(object->json, "status", "progress");
}

static bool
is_rollback(const struct tasking *t)
{
  return strcmp(t->task->verb, TASK_ROLLBACK) == 0;
}

/* A worker tells of its first percent late, and not at all when it is killed before. So what is on
 * record when one is about to run tells whether there was another. A version that was changed
 * meanwhile is not written to: one that was deleted before it began does not begin. */
bool
task_note_rollback(struct populator *populator, const struct kube_object *object)
{
  const char *before = progress_of(object);
  if (object->is_deleting && !before)
    return false;
  if (before && strcmp(before, PROGRESS_NONE) != 0)
    return true;
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  json_put_text(patch, before ? PROGRESS_BEGUN : PROGRESS_NONE, "status", "progress");
  json_put_text(patch, object->version, "metadata", "resourceVersion");
  return kube_patch(populator->client, &virtual_machine_volume_rollbacks, object, "status", patch,
                    NULL) == 0;
}

/* The volume is half of each now, or may be. That it is in use is told of the worker that was
 * killed over it, for half a minute. The server is asked: our copy may be older than the note. */
static int
is_half_rolled_back(const struct tasking *t, bool *ret_is, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *object = NULL;
  *ret_is = false;
  if (!is_rollback(t))
    return 0;
  if (kube_get(t->populator->client, t->task->controller->kind, t->object->ns, t->object->name,
               &object, err) < 0)
    return -1;
  const char *progress = progress_of(object);
  *ret_is = progress && strcmp(progress, PROGRESS_NONE) != 0;
  return 0;
}

static int
take_failure(const struct tasking *t, const struct transfer_view *view, struct error **err)
{
  int64_t attempts = json_number(t->object->json, "status", "attempts") + 1;
  bool is_half;
  if (is_half_rolled_back(t, &is_half, err) < 0)
    return -1;
  if (!(retry_may_pass(view->code) || is_half) || attempts > RETRIES)
    return fail(t, view->message, err);
  struct json_object *more = json_object_new_object();
  json_put_at(more, json_object_new_int64(attempts), "attempts");
  CLEANUP(freep) char *message = retry_put(t->object, attempts, view->message, more);
  if (write_status(t, "Creating", t->task->creating, message, more, err) < 0)
    return -1;
  kube_event_tell(t->populator->events, t->task->controller->kind, t->object, KUBE_EVENT_WARNING,
                  "Retried", "%s", view->message); /* without the time: the same is counted */
  transfers_forget(t->populator->transfers, t->key);
  return 0; /* the change of the status calls again, and then it waits */
}

static int
write_progress(const struct tasking *t, const struct transfer_view *view, struct error **err)
{
  const char *before = progress_of(t->object);
  double least = is_rollback(t) ? PERCENT_BEGUN : 0;
  CLEANUP(freep)
  char *progress = xasprintf("%.1f%%", view->percent > least ? view->percent : least);
  struct json_object *more = json_object_new_object();
  if (view->percent >= 0)
    json_put_text(more, progress, "progress");
  else if (!before)
    json_put_text(more, PROGRESS_NONE, "progress");
  retry_clear(t->object, more);
  return write_status(t, "Creating", t->task->creating,
                      view->trouble ? view->trouble : "it is under way", more, err);
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
    return complete(t, view, err);
  case TRANSFER_RUNNING:
    return write_progress(t, view, err);
  default:
    return 0;
  }
}

static int
advance(const struct tasking *t, int64_t *ret_again_ms, struct error **err)
{
  int64_t wait_ms = retry_wait_ms(t->object);
  CLEANUP(transfer_view_clear) struct transfer_view view;
  transfers_look(t->populator->transfers, t->key, t->task->verb, &view);
  if (wait_ms == 0 || transfer_view_is_begun(&view))
    return step(t, &view, ret_again_ms, err);
  transfers_forget(t->populator->transfers, t->key);
  *ret_again_ms = wait_ms;
  return 0;
}

static bool
is_over(const struct kube_object *object)
{
  const char *state = condition_state(object);
  return strcmp(state, "Completed") == 0 || strcmp(state, "Error") == 0;
}

bool
task_is_wanted_behind(const struct kube_object *object, const char *verb)
{
  bool is_half_done = strcmp(verb, TASK_ROLLBACK) == 0 && progress_of(object) && !is_over(object);
  return kube_object_has_finalizer(object, FINALIZER_CLEANUP) &&
         (is_half_done || strcmp(verb, TASK_DISCARD) == 0);
}

/* Half a rollback is worse than none or all of it: what was begun comes to its end first. */
static bool
must_end(const struct tasking *t)
{
  return is_rollback(t) && !is_over(t->object) && progress_of(t->object);
}

static int
let_go(const struct tasking *t, int64_t *ret_again_ms, struct error **err)
{
  bool is_clean = true;
  if (!kube_object_has_finalizer(t->object, FINALIZER_CLEANUP))
    return 0;
  if (must_end(t))
    return advance(t, ret_again_ms, err);
  if (t->task->clean_up &&
      t->task->clean_up(t->populator, t->object, &is_clean, ret_again_ms, err) < 0)
    return -1;
  return is_clean ? release(t, err) : 0;
}

int
task_reconcile(const struct task *task, struct populator *populator,
               const struct kube_object *object, int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(freep) char *key = populator_key(task->controller, object->ns, object->name);
  const struct tasking t = {.task = task, .populator = populator, .object = object, .key = key};
  if (object->is_deleting)
    return let_go(&t, ret_again_ms, err);
  if (is_over(object)) {
    transfers_forget(populator->transfers, key);
    return 0;
  }
  if (!kube_object_has_finalizer(object, FINALIZER_CLEANUP))
    return kube_add_finalizer(populator->client, task->controller->kind, object, FINALIZER_CLEANUP,
                              err);
  return advance(&t, ret_again_ms, err);
}
