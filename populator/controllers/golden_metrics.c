/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/golden_metrics.h"

#include <string.h>
#include <time.h>

#include "lib/kube/kube_time.h"
#include "populator/controllers/cron_imports.h"
#include "populator/controllers/golden_objects.h"
#include "populator/objects/conditions.h"

static void
add(struct series *gauges, uint64_t value, const char *name, const struct kube_object *object)
{
  series_add(gauges, value, "%s{object_namespace=\"%s\",name=\"%s\"}", name, object->ns,
             object->name);
}

static uint64_t
age_s(const struct kube_object *cron)
{
  time_t since;
  time_t now = time(NULL);
  if (kube_time_parse(json_text(cron->json, "status", "lastImportTimestamp"), &since) < 0 ||
      since > now)
    return 0;
  return (uint64_t)(now - since);
}

/* Of its DataVolumes: those that failed, for good or so far. */
static uint64_t
failed_imports(struct kube_object **volumes, const struct kube_object *cron)
{
  uint64_t count = 0;
  for (size_t i = 0; volumes[i]; i++) {
    const char *label = kube_object_label(volumes[i], LABEL_CRON);
    const char *phase = json_text(volumes[i]->json, "status", "phase");
    bool is_done = phase && strcmp(phase, "Succeeded") == 0;
    bool is_failed = (phase && strcmp(phase, "Failed") == 0) ||
                     json_number(volumes[i]->json, "status", "restartCount") > 0;
    count += label && strcmp(label, cron->name) == 0 && strcmp(volumes[i]->ns, cron->ns) == 0 &&
             !is_done && is_failed;
  }
  return count;
}

/* One that is to look only when asked to, and was not asked yet, lacks nothing. */
static bool
is_outdated(const struct kube_object *cron)
{
  const char *schedule = json_text(cron->json, "spec", "schedule");
  bool is_idle =
      (!schedule || !*schedule) && !json_at(cron->json, "status", "lastExecutionTimestamp");
  return !is_idle && !conditions_is_true(cron, "UpToDate");
}

/* Of an image that the installation offers and does not import: nobody has made its claim, and
 * nobody has to. */
static bool
is_offer(const struct populator *populator, const struct kube_object *source)
{
  const char *reason = json_text(conditions_find(source, "Ready"), "reason");
  return golden_object_is_ours(populator, source) && !kube_object_label(source, LABEL_CRON) &&
         reason && strcmp(reason, "NotFound") == 0;
}

void
golden_metrics_add(struct populator *populator, struct series *gauges)
{
  CLEANUP(kube_objects_freep)
  struct kube_object **crons = kube_mirror_all(populator->data_import_crons, NULL);
  CLEANUP(kube_objects_freep)
  struct kube_object **sources = kube_mirror_all(populator->data_sources, NULL);
  CLEANUP(kube_objects_freep)
  struct kube_object **volumes = kube_mirror_all(populator->data_volumes, NULL);
  if (populator->golden_images)
    series_add(gauges, atomic_load(&populator->golden_refused), "imprint_golden_images_refused");
  for (size_t i = 0; crons[i]; i++) {
    int64_t failed_polls = json_number(crons[i]->json, "status", "failedPolls");
    add(gauges, is_outdated(crons[i]), "imprint_data_import_cron_outdated", crons[i]);
    add(gauges, failed_polls > 0 ? (uint64_t)failed_polls : 0,
        "imprint_data_import_cron_failed_polls", crons[i]);
    add(gauges, failed_imports(volumes, crons[i]), "imprint_data_import_cron_failed_imports",
        crons[i]);
    if (json_text(crons[i]->json, "status", "lastImportTimestamp"))
      add(gauges, age_s(crons[i]), "imprint_data_import_cron_image_age_seconds", crons[i]);
  }
  for (size_t i = 0; sources[i]; i++)
    add(gauges, !conditions_is_true(sources[i], "Ready") && !is_offer(populator, sources[i]),
        "imprint_data_source_not_ready", sources[i]);
}
