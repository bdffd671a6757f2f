/* SPDX-License-Identifier: Apache-2.0 */
/* DataImportCron: looks for a new version of an image, imports it into a claim of its own, and
 * points a DataSource at it when it is complete. What is in service stays so until then, whatever
 * happens.
 *
 * The version that is wanted is in the status (currentImports), with the name of its import; all
 * else shows. So it does not matter between which steps somebody is killed. */
#include <string.h>

#include "lib/base/memory.h"
#include "lib/kube/kube_time.h"
#include "populator/controllers/cron_imports.h"
#include "populator/controllers/cron_target.h"
#include "populator/controllers/data_volume_status.h"
#include "populator/controllers/import_source.h"
#include "populator/objects/conditions.h"

static const struct kube_kind *const kind = &data_import_crons;

#define USED_MS 10000
/* What was written comes back as a change, which calls; this is for when it does not. */
#define SETTLE_MS 2000
#define WAITING_MS 10000

/* How things are with a cron, and what to say of it. */
struct view {
  const struct kube_object *cron;
  struct kube_object *target;  /* the DataSource; NULL: it was just made */
  const char *wanted;          /* name of the import of the newest known version; NULL: none */
  struct kube_object *volume;  /* its DataVolume, or NULL */
  bool is_complete;            /* its claim is */
  struct cron_finding finding; /* of a look that is just over */
  const char *problem;         /* of the last look or the import */
};

static void
view_clear(struct view *view)
{
  kube_object_release(view->target);
  kube_object_release(view->volume);
  cron_finding_clear(&view->finding);
}

static const char *
wanted_import(const struct kube_object *cron)
{
  return json_text(json_item(json_at(cron->json, "status", "currentImports"), 0), "DataVolumeName");
}

/* ---- status -----------------------------------------------------------------------------------
 */

static void
put_now(struct json_object *status, const char *member)
{
  char now[KUBE_TIME_BYTES];
  json_put_text(status, kube_time_text(time(NULL), now), member);
}

/* A look is over. What it found, or that it found nothing. */
static void
put_finding(const struct view *view, struct json_object *status)
{
  const char *request = kube_object_annotation(view->cron, ANNOTATION_POLL);
  int64_t failures = json_number(view->cron->json, "status", "failedPolls");
  put_now(status, "lastExecutionTimestamp");
  json_put_at(status, json_object_new_int64(view->finding.identity ? 0 : failures + 1),
              "failedPolls");
  if (request)
    json_put_text(status, request, "lastPollRequest");
  if (!view->finding.identity)
    return;
  CLEANUP(freep) char *name = cron_import_name(view->cron, view->finding.identity);
  struct json_object *import = json_object_new_object();
  json_put_text(import, name, "DataVolumeName");
  json_put_text(import, view->finding.identity, "Digest");
  if (view->finding.url)
    json_put_text(import, view->finding.url, "URL");
  struct json_object *list = json_object_new_array();
  json_object_array_add(list, import);
  json_put_at(status, list, "currentImports");
}

static struct condition_row
up_to_date(const struct view *view, bool is_in_service)
{
  struct condition_row row = {.type = "UpToDate", .message = view->problem};
  if (view->problem && !view->wanted)
    row.reason = "NoDigest";
  else if (view->problem)
    row.reason = is_in_service ? "NoDigest" : "Outdated";
  else if (!view->wanted) {
    row.reason = "NoDigest";
    row.message = "no version is known yet";
  } else if (is_in_service) {
    row.is_true = true;
    row.reason = "UpToDate";
    row.message = "the newest version is in service";
  } else if (view->volume) {
    row.reason = "ImportProgressing";
    row.message = "a new version is being imported";
  } else {
    row.reason = "Outdated";
    row.message = "there is a new version";
  }
  return row;
}

static int
write_status(struct populator *populator, const struct view *view, struct json_object *status,
             struct error **err)
{
  const char *current = view->target ? cron_target_current(view->target) : NULL;
  bool is_in_service =
      view->is_complete && view->wanted && current && strcmp(current, view->wanted) == 0;
  bool is_importing = view->volume && !data_volume_status_is_final(view->volume);
  bool is_scheduled = view->wanted && !view->is_complete && !view->volume && !view->problem;
  const struct condition_row rows[] = {
      {"Progressing", is_importing,
       is_importing   ? "ImportProgressing"
       : is_scheduled ? "ImportScheduled"
                      : "NoImport",
       is_importing   ? "an import is in progress"
       : is_scheduled ? "an import is about to begin"
                      : "no import is in progress"},
      up_to_date(view, is_in_service),
  };
  json_put_at(status, conditions_json(view->cron, rows, 2), "conditions");
  return kube_patch_status(populator->client, kind, view->cron, status, err);
}

/* ---- the steps --------------------------------------------------------------------------------
 */

/* The wanted import: makes it unless it is there. */
static int
look_at_import(struct populator *populator, struct view *view, struct error **err)
{
  const struct kube_object *cron = view->cron;
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, cron->ns, view->wanted);
  view->volume = kube_mirror_get(populator->data_volumes, cron->ns, view->wanted);
  view->is_complete = data_volume_claim_is_bound(claim) && !claim->is_deleting;
  if (view->is_complete || (view->volume && view->volume->is_deleting))
    return 0;
  if (view->volume) {
    bool is_failed = strcmp(data_volume_status_phase(view->volume), "Failed") == 0;
    int64_t restarts = json_number(view->volume->json, "status", "restartCount");
    if (is_failed || restarts > 0)
      view->problem = json_text(conditions_find(view->volume, "Ready"), "message");
    return 0;
  }
  struct json_object *import = json_item(json_at(cron->json, "status", "currentImports"), 0);
  return cron_import_make(populator, cron, view->wanted, json_text(import, "URL"), err);
}

/* It was looked again, and the version is the same whose import failed: once more. */
static int
retry_failed(struct populator *populator, const struct view *view, struct error **err)
{
  if (!view->finding.identity)
    return 0;
  CLEANUP(freep) char *name = cron_import_name(view->cron, view->finding.identity);
  CLEANUP(kube_object_releasep)
  struct kube_object *volume = kube_mirror_get(populator->data_volumes, view->cron->ns, name);
  if (!volume || strcmp(data_volume_status_phase(volume), "Failed") != 0)
    return 0;
  return cron_import_remove(populator, view->cron->ns, name, err);
}

static int
put_in_service(struct populator *populator, const struct view *view, struct json_object *status,
               struct error **err)
{
  const char *current = cron_target_current(view->target);
  const char *told = json_text(view->cron->json, "status", "lastImportedPVC", "name");
  if (!current || strcmp(current, view->wanted) != 0) {
    if (cron_target_point(populator, view->target, view->wanted, err) < 0)
      return -1;
    kube_event_tell(populator->events, kind, view->cron, KUBE_EVENT_NORMAL, "Updated",
                    "DataSource '%s' leads to '%s' now", view->target->name, view->wanted);
  }
  if (told && strcmp(told, view->wanted) == 0)
    return 0;
  put_now(status, "lastImportTimestamp");
  json_put_text(status, view->cron->ns, "lastImportedPVC", "namespace");
  json_put_text(status, view->wanted, "lastImportedPVC", "name");
  return 0;
}

static int
act(struct populator *populator, struct view *view, struct json_object *status, bool *ret_has_used,
    struct error **err)
{
  *ret_has_used = false;
  if (!view->target || !view->wanted)
    return 0;
  if (look_at_import(populator, view, err) < 0 ||
      (view->is_complete && put_in_service(populator, view, status, err) < 0))
    return -1;
  const char *current = cron_target_current(view->target);
  return cron_imports_collect(populator, view->cron, view->is_complete ? view->wanted : current,
                              view->wanted, ret_has_used, err);
}

static char *
describe_failure(const struct kube_object *cron, const struct cron_finding *finding)
{
  const char *url = import_source_url(cron_poll_source(cron));
  return xasprintf("%s %s: %s", finding->is_away ? "Unable to reach" : "No version is told by",
                   url ? url : "the source", finding->problem);
}

static const char *
last_problem(const struct kube_object *cron)
{
  struct json_object *before = conditions_find(cron, "UpToDate");
  return json_number(cron->json, "status", "failedPolls") > 0 ? json_text(before, "message") : NULL;
}

static int
advance(struct populator *populator, const struct kube_object *cron, int64_t *ret_again_ms,
        struct error **err)
{
  CLEANUP(view_clear) struct view view = {.cron = cron, .wanted = wanted_import(cron)};
  CLEANUP(freep) char *failure = NULL;
  bool has_used = false;
  if (cron_target_open(populator, cron, &view.target, err) < 0 ||
      cron_poll(populator, cron, &view.finding, ret_again_ms, err) < 0)
    return -1;
  struct json_object *status = json_object_new_object();
  view.problem = last_problem(cron);
  if (view.finding.is_new) {
    if (view.finding.problem) {
      failure = describe_failure(cron, &view.finding);
      kube_event_tell(populator->events, kind, cron, KUBE_EVENT_WARNING, "PollFailed", "%s",
                      failure);
    }
    view.problem = failure;
    put_finding(&view, status); /* what follows from it follows from the status */
    if (retry_failed(populator, &view, err) < 0) {
      json_object_put(status);
      return -1;
    }
    *ret_again_ms = SETTLE_MS;
    return write_status(populator, &view, status, err);
  }
  if (act(populator, &view, status, &has_used, err) < 0) {
    json_object_put(status);
    return -1;
  }
  if (has_used && (*ret_again_ms == WORK_DONE || *ret_again_ms > USED_MS))
    *ret_again_ms = USED_MS;
  return write_status(populator, &view, status, err);
}

/* ---- the whole --------------------------------------------------------------------------------
 */

/* The cron goes. None: all of it with it; All: nothing; else the imports stay, and the DataSource
 * while it has another owner. */
static int
clean_up(struct populator *populator, const struct kube_object *cron, struct error **err)
{
  const char *policy = json_text(cron->json, "spec", "retentionPolicy");
  cron_poll_forget(populator, cron->ns, cron->name);
  if (policy && strcmp(policy, "None") == 0 && cron_imports_remove_all(populator, cron, err) < 0)
    return -1;
  if (policy && strcmp(policy, "All") == 0 && cron_target_leave(populator, cron, err) < 0)
    return -1;
  return kube_remove_finalizer(populator->client, kind, cron, FINALIZER_CLEANUP, err);
}

static int
tell_problem(struct populator *populator, const struct kube_object *cron,
             const struct error *problem, int64_t *ret_again_ms, struct error **err)
{
  if (problem->code != ERROR_INVALID_ARGUMENT && problem->code != ERROR_FAILED_PRECONDITION &&
      problem->code != ERROR_UNAVAILABLE)
    return error_set(err, problem->code, "%s", problem->message);
  CLEANUP(view_clear)
  struct view view = {.cron = cron, .problem = problem->message};
  kube_event_tell(populator->events, kind, cron, KUBE_EVENT_WARNING, "Waiting", "%s",
                  problem->message);
  *ret_again_ms = WAITING_MS;
  return write_status(populator, &view, json_object_new_object(), err);
}

static int
reconcile(struct populator *populator, const struct kube_object *cron, int64_t *ret_again_ms,
          struct error **err)
{
  if (cron->is_deleting)
    return kube_object_has_finalizer(cron, FINALIZER_CLEANUP) ? clean_up(populator, cron, err) : 0;
  if (!kube_object_has_finalizer(cron, FINALIZER_CLEANUP))
    return kube_add_finalizer(populator->client, kind, cron, FINALIZER_CLEANUP, err);
  CLEANUP(error_freep) struct error *failure = NULL;
  if (advance(populator, cron, ret_again_ms, &failure) == 0)
    return 0;
  return tell_problem(populator, cron, failure, ret_again_ms, err);
}

const struct controller data_import_cron_controller = {
    .name = "data-import-cron", .kind = &data_import_crons, .reconcile = reconcile};

/* ---- who calls it -----------------------------------------------------------------------------
 */

void
data_import_cron_changed(void *context, const struct kube_object *before,
                         const struct kube_object *after)
{
  struct populator *populator = context;
  if (after)
    populator_wake(populator, &data_import_cron_controller, after->ns, after->name);
  else
    cron_poll_forget(populator, before->ns, before->name);
}

void
data_import_cron_import_changed(struct populator *populator, const struct kube_object *import)
{
  const char *cron = kube_object_label(import, LABEL_CRON);
  if (cron)
    populator_wake(populator, &data_import_cron_controller, import->ns, cron);
}

void
data_import_cron_target_changed(struct populator *populator, const struct kube_object *target)
{
  CLEANUP(kube_objects_freep)
  struct kube_object **all = kube_mirror_all(populator->data_import_crons, target->ns);
  for (size_t i = 0; all[i]; i++) {
    const char *managed = json_text(all[i]->json, "spec", "managedDataSource");
    if (managed && strcmp(managed, target->name) == 0)
      populator_wake(populator, &data_import_cron_controller, all[i]->ns, all[i]->name);
  }
}
