/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/cron_status.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/kube/kube_time.h"
#include "populator/controllers/cron_imports.h"
#include "populator/controllers/cron_target.h"
#include "populator/controllers/data_volume_status.h"
#include "populator/objects/conditions.h"

void
cron_view_clear(struct cron_view *view)
{
  kube_object_release(view->target);
  kube_object_release(view->volume);
  cron_finding_clear(&view->finding);
}

struct json_object *
cron_status_import(const struct kube_object *cron)
{
  return json_item(json_at(cron->json, "status", "currentImports"), 0);
}

struct json_object *
cron_status_next(const struct kube_object *cron)
{
  return json_item(json_at(cron->json, "status", "currentImports"), 1);
}

bool
cron_status_is_under_way(const struct kube_object *volume)
{
  return volume && *data_volume_status_phase(volume) && !data_volume_status_is_final(volume) &&
         !data_volume_status_is_pending(volume);
}

const char *
cron_status_problem(const struct kube_object *cron)
{
  struct json_object *before = conditions_find(cron, "UpToDate");
  return json_number(cron->json, "status", "failedPolls") > 0 ? json_text(before, "message") : NULL;
}

/* ---- what happened ----------------------------------------------------------------------------
 */

static void
put_now(struct json_object *status, const char *member)
{
  char now[KUBE_TIME_BYTES];
  json_put_text(status, kube_time_text(time(NULL), now), member);
}

/* Versions may come faster than they can be fetched: what is being fetched is put in service before
 * the next is begun. But not when it is of a source that the cron had before. */
static bool
is_finished_first(const struct cron_view *view, const char *found)
{
  int64_t asked = json_number(view->cron->json, "status", "observedGeneration");
  return view->wanted && strcmp(view->wanted, found) != 0 && !view->is_complete &&
         asked == view->cron->generation && cron_status_is_under_way(view->volume);
}

void
cron_status_put_finding(const struct cron_view *view, struct json_object *status)
{
  const char *request = kube_object_annotation(view->cron, ANNOTATION_POLL);
  int64_t failures = json_number(view->cron->json, "status", "failedPolls");
  put_now(status, "lastExecutionTimestamp");
  json_put_at(status, json_object_new_int64(view->cron->generation), "observedGeneration");
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
  if (is_finished_first(view, name))
    json_object_array_add(list, json_copy(cron_status_import(view->cron)));
  json_object_array_add(list, import);
  json_put_at(status, list, "currentImports");
}

void
cron_status_put_next(struct cron_view *view, struct json_object *status)
{
  struct json_object *list = json_object_new_array();
  json_object_array_add(list, json_copy(cron_status_next(view->cron)));
  json_put_at(status, list, "currentImports");
  view->wanted = json_text(json_item(list, 0), "DataVolumeName");
  view->is_complete = false;
  view->problem = NULL;
  kube_object_release(TAKE(view->volume));
}

void
cron_status_put_import(const struct cron_view *view, struct json_object *status)
{
  put_now(status, "lastImportTimestamp");
  json_put_text(status, view->cron->ns, "lastImportedPVC", "namespace");
  json_put_text(status, view->wanted, "lastImportedPVC", "name");
}

/* ---- how things are ---------------------------------------------------------------------------
 */

static struct condition_row
up_to_date(const struct cron_view *view, bool is_in_service, bool is_importing)
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
  } else if (is_importing) {
    row.reason = "ImportProgressing";
    row.message = "a new version is being imported";
  } else {
    row.reason = "Outdated";
    row.message = "there is a new version";
  }
  return row;
}

int
cron_status_write(struct populator *populator, const struct cron_view *view,
                  struct json_object *status, struct error **err)
{
  const char *current = view->target ? cron_target_current(view->target) : NULL;
  bool is_in_service =
      view->is_complete && view->wanted && current && strcmp(current, view->wanted) == 0;
  bool is_importing = cron_status_is_under_way(view->volume);
  bool is_scheduled = view->wanted && !view->is_complete && !is_importing && !view->problem;
  const struct condition_row rows[] = {
      {"Progressing", is_importing,
       is_importing   ? "ImportProgressing"
       : is_scheduled ? "ImportScheduled"
                      : "NoImport",
       is_importing   ? "an import is in progress"
       : is_scheduled ? "an import is about to begin"
                      : "no import is in progress"},
      up_to_date(view, is_in_service, is_importing),
  };
  json_put_at(status, conditions_json(view->cron, rows, 2), "conditions");
  if (!view->finding.is_new)
    return kube_patch_status(populator->client, &data_import_crons, view->cron, status, err);
  /* an answer that another populator got meanwhile is newer */
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  json_put_at(patch, status, "status");
  json_put_text(patch, view->cron->version, "metadata", "resourceVersion");
  return kube_patch(populator->client, &data_import_crons, view->cron, "status", patch, err);
}
