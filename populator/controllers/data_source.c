/* SPDX-License-Identifier: Apache-2.0 */
/* DataSource: a name for a claim or a snapshot, which can be pointed at another one at any time.
 * Its condition Ready tells whether volumes can be made from it now. What an image says of machines
 * to run it on, as labels of its claim, is told on the DataSource too. */
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/controllers/clone_source.h"
#include "populator/controllers/cron_imports.h"
#include "populator/controllers/golden_images.h"
#include "populator/objects/conditions.h"
#include "populator/objects/image_labels.h"

static const struct kube_kind *const kind = &data_sources;

struct finding {
  struct source_link link; /* where it leads to */
  struct kube_object *target;
  bool is_ready;
  const char *reason;
  char *message;
};

static void
finding_clear(struct finding *finding)
{
  source_link_clear(&finding->link);
  kube_object_release(finding->target);
  free(finding->message);
}

/* As the DataVolume that fills it says; the text must outlive the object. */
static const char *
reason_of_phase(const char *phase)
{
  static const char *const known[] = {"ImportScheduled", "ImportInProgress", "CloneInProgress",
                                      "UploadReady", "Failed"};
  for (size_t i = 0; phase && i < sizeof(known) / sizeof(known[0]); i++) {
    if (strcmp(phase, known[i]) == 0)
      return known[i];
  }
  return "Pending";
}

/* A claim is complete when it is bound: until then whoever fills it says how far it is. */
static void
judge_claim(struct populator *populator, struct finding *finding)
{
  const char *phase = json_text(finding->target->json, "status", "phase");
  finding->is_ready = phase && strcmp(phase, "Bound") == 0;
  if (finding->is_ready)
    return;
  CLEANUP(kube_object_releasep)
  struct kube_object *volume =
      kube_mirror_get(populator->data_volumes, finding->link.ns, finding->link.name);
  finding->reason = reason_of_phase(volume ? json_text(volume->json, "status", "phase") : NULL);
  finding->message = xasprintf("PersistentVolumeClaim '%s/%s' is not complete yet",
                               finding->link.ns, finding->link.name);
}

static void
judge_snapshot(struct finding *finding)
{
  finding->is_ready = json_flag(finding->target->json, "status", "readyToUse");
  if (finding->is_ready)
    return;
  finding->reason = "SnapshotNotReady";
  finding->message =
      xasprintf("VolumeSnapshot '%s/%s' is not ready yet", finding->link.ns, finding->link.name);
}

static void
look(struct populator *populator, const struct kube_object *data_source, struct finding *finding)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  finding->reason = "Ready";
  if (clone_source_follow(populator, data_source, &finding->link, &finding->reason, &failure) < 0) {
    finding->message = xstrdup(failure->message);
    return;
  }
  bool is_claim = finding->link.kind == &kube_persistent_volume_claims;
  finding->target = kube_mirror_get(is_claim ? populator->claims : populator->snapshots,
                                    finding->link.ns, finding->link.name);
  if (!finding->target) {
    finding->reason = "NotFound";
    finding->message = xasprintf("there is no %s '%s/%s'", finding->link.kind->kind,
                                 finding->link.ns, finding->link.name);
    return;
  }
  if (is_claim)
    judge_claim(populator, finding);
  else
    judge_snapshot(finding);
  if (finding->is_ready)
    finding->message = xstrdup("volumes can be made from it");
}

static int
write_status(struct populator *populator, const struct kube_object *data_source,
             const struct finding *finding, struct error **err)
{
  const struct condition_row ready = {.type = "Ready",
                                      .is_true = finding->is_ready,
                                      .reason = finding->reason,
                                      .message = finding->message};
  struct json_object *status = json_object_new_object();
  json_put_at(status, conditions_json(data_source, &ready, 1), "conditions");
  struct json_object *source =
      finding->link.kind ? source_link_json(&finding->link) : json_object_new_object();
  /* a merge patch keeps what is not taken away by name */
  if (!json_at(source, "pvc"))
    json_object_object_add(source, "pvc", NULL);
  if (!json_at(source, "snapshot"))
    json_object_object_add(source, "snapshot", NULL);
  json_put_at(status, source, "source");
  return kube_patch_status(populator->client, kind, data_source, status, err);
}

/* What the cron says now counts more than what it said when the image was imported. */
static bool
add_labels_of_cron(struct populator *populator, const struct kube_object *data_source,
                   struct json_object *labels)
{
  const char *name = kube_object_label(data_source, LABEL_CRON);
  CLEANUP(kube_object_releasep)
  struct kube_object *cron =
      kube_mirror_get(populator->data_import_crons, data_source->ns, name ? name : "");
  const char *managed = cron ? json_text(cron->json, "spec", "managedDataSource") : NULL;
  if (!managed || strcmp(managed, data_source->name) != 0)
    return false;
  bool has_some =
      image_labels_add(json_at(cron->json, "spec", "template", "metadata", "labels"), labels);
  return image_labels_copy(cron, labels) || has_some;
}

static int
write_labels(struct populator *populator, const struct kube_object *data_source,
             const struct finding *finding, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *labels = json_object_new_object();
  bool has_some = finding->is_ready && image_labels_copy(finding->target, labels);
  if (!add_labels_of_cron(populator, data_source, labels) && !has_some)
    return 0;
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  json_put_at(patch, json_object_get(labels), "metadata", "labels");
  return kube_patch(populator->client, kind, data_source, NULL, patch, err);
}

static int
reconcile(struct populator *populator, const struct kube_object *data_source, int64_t *ret_again_ms,
          struct error **err)
{
  (void)ret_again_ms;
  if (data_source->is_deleting)
    return 0;
  CLEANUP(finding_clear) struct finding finding = {0};
  look(populator, data_source, &finding);
  if (write_labels(populator, data_source, &finding, err) < 0)
    return -1;
  return write_status(populator, data_source, &finding, err);
}

const struct controller data_source_controller = {
    .name = "data-source", .kind = &data_sources, .reconcile = reconcile};

/* ---- who calls it -----------------------------------------------------------------------------
 */

void
data_source_changed(void *context, const struct kube_object *before,
                    const struct kube_object *after)
{
  struct populator *populator = context;
  const struct kube_object *changed = after ? after : before;
  golden_images_object_changed(populator, before, after);
  if (after)
    populator_wake(populator, &data_source_controller, after->ns, after->name);
  CLEANUP(kube_objects_freep)
  struct kube_object **all = kube_mirror_all(populator->data_sources, changed->ns);
  for (size_t i = 0; all[i]; i++) {
    const char *name = json_text(all[i]->json, "spec", "source", "dataSource", "name");
    if (name && strcmp(name, changed->name) == 0)
      populator_wake(populator, &data_source_controller, all[i]->ns, all[i]->name);
  }
  claim_origin_changed(populator, kind, changed);
  data_import_cron_target_changed(populator, changed);
}

void
data_source_target_changed(struct populator *populator, const struct kube_kind *target_kind,
                           const struct kube_object *target)
{
  CLEANUP(kube_objects_freep)
  struct kube_object **all = kube_mirror_all(populator->data_sources, NULL);
  for (size_t i = 0; all[i]; i++) {
    struct source_link own = {0};
    struct source_link resolved = {0};
    bool is_own = source_link_read(json_at(all[i]->json, "spec", "source"), all[i]->ns, &own) &&
                  own.kind == target_kind && strcmp(own.name, target->name) == 0;
    bool is_resolved =
        source_link_read(json_at(all[i]->json, "status", "source"), all[i]->ns, &resolved) &&
        resolved.kind == target_kind && strcmp(resolved.name, target->name) == 0;
    if (is_own || is_resolved)
      populator_wake(populator, &data_source_controller, all[i]->ns, all[i]->name);
    source_link_clear(&own);
    source_link_clear(&resolved);
  }
}

void
snapshot_changed(void *context, const struct kube_object *before, const struct kube_object *after)
{
  struct populator *populator = context;
  const struct kube_object *snapshot = after ? after : before;
  data_source_target_changed(populator, &kube_volume_snapshots, snapshot);
  claim_origin_changed(populator, &kube_volume_snapshots, snapshot);
}
