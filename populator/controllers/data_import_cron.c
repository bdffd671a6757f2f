/* SPDX-License-Identifier: Apache-2.0 */
/* DataImportCron: looks for a new version of an image, imports it into a claim of its own, and
 * points a DataSource at it when it is complete. What is in service stays so until then, whatever
 * happens.
 *
 * The version that is wanted is in the status (currentImports), with the name of its import, and
 * behind it a newer one that was found while that was being fetched; all else shows. So it does not
 * matter between which steps somebody is killed. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/cron_imports.h"
#include "populator/controllers/cron_status.h"
#include "populator/controllers/cron_target.h"
#include "populator/controllers/data_volume_status.h"
#include "populator/controllers/golden_images.h"
#include "populator/controllers/import_source.h"
#include "populator/objects/conditions.h"

static const struct kube_kind *const kind = &data_import_crons;

#define USED_MS 10000
/* What was written comes back as a change, which calls; this is for when it does not. */
#define SETTLE_MS 2000
#define WAITING_MS 10000

/* ---- the steps --------------------------------------------------------------------------------
 */

/* The wanted import as it is. */
static void
look_at_import(struct populator *populator, struct cron_view *view)
{
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, view->cron->ns, view->wanted);
  kube_object_release(view->volume);
  view->volume = kube_mirror_get(populator->data_volumes, view->cron->ns, view->wanted);
  view->is_complete = data_volume_claim_is_bound(claim) && !claim->is_deleting;
  const char *phase = claim ? json_text(claim->json, "status", "phase") : NULL;
  view->is_lost = phase && strcmp(phase, "Lost") == 0;
}

/* Makes it unless it is there; it was looked at. */
static int
see_to_import(struct populator *populator, struct cron_view *view, struct error **err)
{
  const struct kube_object *cron = view->cron;
  if (view->is_complete || (view->volume && view->volume->is_deleting))
    return 0;
  if (view->volume && view->is_lost) /* its end calls, and then it is made again */
    return cron_import_remove(populator, cron->ns, view->wanted, err);
  if (view->volume) {
    bool is_failed = strcmp(data_volume_status_phase(view->volume), "Failed") == 0;
    int64_t restarts = json_number(view->volume->json, "status", "restartCount");
    if (is_failed || restarts > 0 || data_volume_status_is_pending(view->volume))
      view->problem = json_text(conditions_find(view->volume, "Ready"), "message");
    return 0;
  }
  return cron_import_make(populator, cron, view->wanted, json_text(cron_status_import(cron), "URL"),
                          err);
}

/* It was looked again, and the version is the same whose import failed: once more. */
static int
retry_failed(struct populator *populator, const struct cron_view *view, struct json_object *status,
             struct error **err)
{
  int64_t failures = json_number(view->cron->json, "status", "failedImports");
  if (!view->finding.identity)
    return 0;
  json_put_at(status, json_object_new_int64(0), "failedImports");
  CLEANUP(freep) char *name = cron_import_name(view->cron, view->finding.identity);
  CLEANUP(kube_object_releasep)
  struct kube_object *volume = kube_mirror_get(populator->data_volumes, view->cron->ns, name);
  if (!volume || strcmp(data_volume_status_phase(volume), "Failed") != 0)
    return 0;
  json_put_at(status, json_object_new_int64(failures + 1), "failedImports");
  return cron_import_remove(populator, view->cron->ns, name, err);
}

static int
put_in_service(struct populator *populator, const struct cron_view *view,
               struct json_object *status, struct error **err)
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
  cron_status_put_import(view, status);
  return 0;
}

static int
act(struct populator *populator, struct cron_view *view, struct json_object *status,
    bool *ret_has_used, struct error **err)
{
  *ret_has_used = false;
  if (!view->target || !view->wanted)
    return 0;
  look_at_import(populator, view);
  bool has_next = cron_status_next(view->cron);
  if (has_next && !view->is_complete && !cron_status_is_under_way(view->volume)) {
    cron_status_put_next(view, status);
    return 0;
  }
  if (see_to_import(populator, view, err) < 0 ||
      (view->is_complete && put_in_service(populator, view, status, err) < 0))
    return -1;
  const char *current = cron_target_current(view->target);
  if (cron_imports_collect(populator, view->cron, view->is_complete ? view->wanted : current,
                           view->wanted, ret_has_used, err) < 0)
    return -1;
  if (has_next && view->is_complete)
    cron_status_put_next(view, status);
  return 0;
}

static char *
describe_failure(const struct kube_object *cron, const struct cron_finding *finding)
{
  const char *url = import_source_url(cron_poll_source(cron));
  return xasprintf("%s %s: %s", finding->is_away ? "Unable to reach" : "No version is told by",
                   url ? url : "the source", finding->problem);
}

/* A look is just over. What follows from it follows from the status, which is all that is written
 * now. */
static int
take_finding(struct populator *populator, struct cron_view *view, struct json_object *status,
             struct error **err)
{
  CLEANUP(freep) char *failure = NULL;
  if (view->finding.problem) {
    failure = describe_failure(view->cron, &view->finding);
    kube_event_tell(populator->events, kind, view->cron, KUBE_EVENT_WARNING, "PollFailed", "%s",
                    failure);
  }
  view->problem = failure;
  if (view->wanted)
    look_at_import(populator, view);
  cron_status_put_finding(view, status);
  if (view->finding.identity)
    view->wanted = json_text(json_item(json_at(status, "currentImports"), 0), "DataVolumeName");
  if (view->wanted)
    look_at_import(populator, view);
  if (retry_failed(populator, view, status, err) < 0) {
    json_object_put(status);
    return -1;
  }
  return cron_status_write(populator, view, status, err);
}

/* What somebody can mend, or what passes. */
static bool
is_to_be_told(const struct error *problem)
{
  return problem->code == ERROR_INVALID_ARGUMENT || problem->code == ERROR_FAILED_PRECONDITION ||
         problem->code == ERROR_UNAVAILABLE || problem->code == ERROR_PERMISSION_DENIED;
}

static void
tell_waiting(struct populator *populator, const struct kube_object *cron,
             const struct error *problem, int64_t *ret_again_ms)
{
  kube_event_tell(populator->events, kind, cron, KUBE_EVENT_WARNING, "Waiting", "%s",
                  problem->message);
  *ret_again_ms = WAITING_MS;
}

static int
advance(struct populator *populator, struct cron_view *view, int64_t *ret_again_ms,
        struct error **err)
{
  CLEANUP(error_freep) struct error *problem = NULL;
  bool has_used = false;
  if (cron_target_open(populator, view->cron, &view->target, err) < 0)
    return -1;
  int r = cron_poll(populator, view->cron, &view->finding, ret_again_ms, &problem);
  if (r < 0 && !is_to_be_told(problem))
    return error_set(err, problem->code, "%s", problem->message);
  if (r < 0) /* nobody can be asked; an import goes on, and is put in service */
    tell_waiting(populator, view->cron, problem, ret_again_ms);
  struct json_object *status = json_object_new_object();
  if (view->finding.is_new) {
    *ret_again_ms = SETTLE_MS;
    return take_finding(populator, view, status, err);
  }
  view->problem = problem ? problem->message : cron_status_problem(view->cron);
  if (act(populator, view, status, &has_used, err) < 0) {
    json_object_put(status);
    return -1;
  }
  if (has_used && (*ret_again_ms == WORK_DONE || *ret_again_ms > USED_MS))
    *ret_again_ms = USED_MS;
  return cron_status_write(populator, view, status, err);
}

/* ---- the whole --------------------------------------------------------------------------------
 */

/* The cron goes, and with it what is not complete. None: all of it; All: nothing else; without a
 * policy the imports stay, and the DataSource while it has another owner. */
static int
clean_up(struct populator *populator, const struct kube_object *cron, struct error **err)
{
  const char *policy = json_text(cron->json, "spec", "retentionPolicy");
  cron_poll_forget(populator, cron->ns, cron->name);
  if (cron_imports_remove_unfinished(populator, cron, err) < 0)
    return -1;
  if (policy && strcmp(policy, "None") == 0 && cron_imports_remove_all(populator, cron, err) < 0)
    return -1;
  bool is_all = policy && strcmp(policy, "All") == 0;
  if ((is_all || !policy) && cron_target_leave(populator, cron, is_all, err) < 0)
    return -1;
  return kube_remove_finalizer(populator->client, kind, cron, FINALIZER_CLEANUP, err);
}

/* Whether something is to be done before the cron goes. Where nothing is, it goes at once, also
 * when we went before it: a chart takes away its crons and us in one go. An import that is not
 * complete can wait for us (cron_import_remove_orphan). */
static bool
needs_cleanup(struct populator *populator, const struct kube_object *cron)
{
  const char *policy = json_text(cron->json, "spec", "retentionPolicy");
  return !policy || strcmp(policy, "All") != 0 || cron_target_has_share(populator, cron);
}

static int
reconcile(struct populator *populator, const struct kube_object *cron, int64_t *ret_again_ms,
          struct error **err)
{
  if (cron->is_deleting)
    return kube_object_has_finalizer(cron, FINALIZER_CLEANUP) ? clean_up(populator, cron, err) : 0;
  CLEANUP(error_freep) struct error *problem = NULL;
  const char *wanted = json_text(cron_status_import(cron), "DataVolumeName");
  CLEANUP(cron_view_clear) struct cron_view view = {.cron = cron, .wanted = wanted};
  bool is_needed = needs_cleanup(populator, cron);
  if (is_needed != kube_object_has_finalizer(cron, FINALIZER_CLEANUP))
    return (is_needed ? kube_add_finalizer : kube_remove_finalizer)(
        populator->client, kind, cron, FINALIZER_CLEANUP, err); /* which calls again */
  if (advance(populator, &view, ret_again_ms, &problem) == 0)
    return 0;
  if (!is_to_be_told(problem))
    return error_set(err, problem->code, "%s", problem->message);
  tell_waiting(populator, cron, problem, ret_again_ms);
  view.wanted = wanted; /* what was found is not on record */
  view.problem = problem->message;
  return cron_status_write(populator, &view, json_object_new_object(), err);
}

const struct controller data_import_cron_controller = {
    .name = "data-import-cron", .kind = &data_import_crons, .reconcile = reconcile};

/* ---- who calls it -----------------------------------------------------------------------------
 */

/* Crons that want to point that DataSource. */
static void
wake_managers(struct populator *populator, const char *ns, const char *target)
{
  CLEANUP(kube_objects_freep)
  struct kube_object **all = kube_mirror_all(populator->data_import_crons, ns);
  for (size_t i = 0; all[i]; i++) {
    const char *managed = json_text(all[i]->json, "spec", "managedDataSource");
    if (managed && strcmp(managed, target) == 0)
      populator_wake(populator, &data_import_cron_controller, all[i]->ns, all[i]->name);
  }
}

/* What of it is not complete goes with it. */
static void
wake_imports(struct populator *populator, const struct kube_object *cron)
{
  CLEANUP(kube_objects_freep)
  struct kube_object **all = kube_mirror_all(populator->data_volumes, cron->ns);
  for (size_t i = 0; all[i]; i++) {
    const char *label = kube_object_label(all[i], LABEL_CRON);
    if (label && strcmp(label, cron->name) == 0)
      populator_wake(populator, &data_volume_controller, all[i]->ns, all[i]->name);
  }
}

void
data_import_cron_changed(void *context, const struct kube_object *before,
                         const struct kube_object *after)
{
  struct populator *populator = context;
  const char *target = json_text((after ? after : before)->json, "spec", "managedDataSource");
  golden_images_object_changed(populator, before, after);
  if (target) /* labels are carried to it */
    populator_wake(populator, &data_source_controller, (after ? after : before)->ns, target);
  if (after) {
    populator_wake(populator, &data_import_cron_controller, after->ns, after->name);
    return;
  }
  cron_poll_forget(populator, before->ns, before->name);
  wake_imports(populator, before);
  if (target) /* one that waited for it to let go */
    wake_managers(populator, before->ns, target);
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
  wake_managers(populator, target->ns, target->name);
}
