/* SPDX-License-Identifier: Apache-2.0 */
/* HyperCloudStorage: all of the storage in one object. It deploys nothing: the chart, and Rook or
 * cephadm, do that; it says whether all that makes up the storage is there and works.
 *
 * Ceph is asked by a short-lived process, so a cluster that hangs holds up nothing here. What it
 * said last stands until it has been asked again. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/storage_parts.h"
#include "populator/objects/condition.h"
#include "populator/objects/conditions.h"

#define POLL_MS 15000
#define PARTS_MAX 8

static const struct kube_kind *const kind = &hypercloud_storages;

struct parts {
  struct part items[PARTS_MAX];
  size_t count;
};

static void
parts_clear(struct parts *parts)
{
  for (size_t i = 0; i < parts->count; i++)
    part_clear(&parts->items[i]);
}

static struct part *
next(struct parts *parts)
{
  return &parts->items[parts->count++];
}

/* ---- what was said before ---------------------------------------------------------------------
 */

/* As it stands in the status, while Ceph is asked anew. False: there is no such condition. */
static bool
keep_part(const struct kube_object *storage, const char *type, struct part *ret_part)
{
  struct json_object *before = conditions_find(storage, type);
  const char *status = json_text(before, "status");
  const char *reason = json_text(before, "reason");
  const char *message = json_text(before, "message");
  if (!status || !reason || !message)
    return false;
  part_set(ret_part, type, strcmp(status, "True") == 0 ? PART_OK : PART_BROKEN, reason,
           xstrdup(message));
  return true;
}

static void
keep_ceph(const struct kube_object *storage, struct parts *parts)
{
  if (keep_part(storage, "StorageReady", &parts->items[parts->count]))
    parts->count++;
  else
    part_set(next(parts), "StorageReady", PART_COMING, "Asking", xstrdup("Ceph is being asked"));
  if (keep_part(storage, "ReplicasMet", &parts->items[parts->count]))
    parts->count++;
}

/* ---- Ceph -------------------------------------------------------------------------------------
 */

static void
ask(struct populator *populator, const char *key)
{
  struct json_object *job = json_object_new_object();
  json_put_at(job, json_object_new_boolean(true), "json");
  json_put_text(job, populator->clusters_file, "clusters");
  lookups_start(populator->lookups, key, "", "Ceph", "health", job);
}

static void
add_ceph(struct populator *populator, const struct kube_object *storage, struct parts *parts,
         int64_t *ret_again_ms)
{
  CLEANUP(freep) char *key = populator_key(&storage_controller, storage->ns, storage->name);
  struct lookup_view view;
  lookups_take(populator->lookups, key, &view);
  if (view.state == LOOKUP_NONE)
    ask(populator, key);
  if (view.state == LOOKUP_NONE || view.state == LOOKUP_RUNNING) {
    keep_ceph(storage, parts); /* there is a call when the answer comes */
    lookup_view_clear(&view);
    return;
  }
  storage_parts_ceph(view.result, view.message, next(parts));
  if (storage_parts_replicas(populator, storage, view.result, &parts->items[parts->count]))
    parts->count++;
  lookup_view_clear(&view);
  *ret_again_ms = POLL_MS;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static const struct part *
find(const struct parts *parts, enum part_state state)
{
  for (size_t i = 0; i < parts->count; i++) {
    if (parts->items[i].state == state)
      return &parts->items[i];
  }
  return NULL;
}

static struct json_object *
status_of(const struct kube_object *storage, const struct parts *parts)
{
  const struct part *broken = find(parts, PART_BROKEN);
  const struct part *coming = find(parts, PART_COMING);
  const struct part *worst = broken ? broken : coming;
  struct condition_row rows[PARTS_MAX + 1];
  rows[0] = (struct condition_row){.type = "ReadyToUse",
                                   .is_true = !worst,
                                   .reason = worst ? worst->reason : "OK",
                                   .message = worst ? worst->message : ""};
  for (size_t i = 0; i < parts->count; i++) {
    const struct part *part = &parts->items[i];
    rows[i + 1] = (struct condition_row){.type = part->type,
                                         .is_true = part->state == PART_OK,
                                         .reason = part->reason,
                                         .message = part->message};
  }
  struct json_object *status = json_object_new_object();
  struct json_object *conditions = conditions_json(storage, rows, parts->count + 1);
  for (size_t i = 0; i < json_count(conditions); i++)
    json_put_at(json_item(conditions, i), json_object_new_int64(storage->generation),
                "observedGeneration");
  json_put_text(status, broken ? "ERROR" : coming ? "Deploying" : "OK", "state");
  json_put_at(status, conditions, "conditions");
  json_put_at(status, json_object_new_int64(storage->generation), "observedGeneration");
  return status;
}

/* A change of the state is told; what stays as it is, is not. */
static void
tell(struct populator *populator, const struct kube_object *storage, struct json_object *status)
{
  const char *state = json_text(status, "state");
  if (strcmp(state, condition_state(storage)) == 0)
    return;
  bool is_error = strcmp(state, "ERROR") == 0;
  kube_event_tell(populator->events, kind, storage,
                  is_error ? KUBE_EVENT_WARNING : KUBE_EVENT_NORMAL, state, "%s",
                  is_error ? json_text(json_item(json_at(status, "conditions"), 0), "message")
                           : "the storage");
}

static int
reconcile(struct populator *populator, const struct kube_object *storage, int64_t *ret_again_ms,
          struct error **err)
{
  CLEANUP(freep) char *key = populator_key(&storage_controller, storage->ns, storage->name);
  CLEANUP(parts_clear) struct parts parts = {0};
  if (storage->is_deleting) {
    lookups_forget(populator->lookups, key);
    return 0;
  }
  add_ceph(populator, storage, &parts, ret_again_ms);
  storage_parts_controller(populator, next(&parts));
  storage_parts_nodes(populator, storage, next(&parts));
  storage_parts_populator(populator, next(&parts));
  storage_parts_classes(populator, next(&parts));
  if (storage_parts_devices(storage, &parts.items[parts.count]))
    parts.count++;
  CLEANUP(json_object_putp) struct json_object *status = status_of(storage, &parts);
  tell(populator, storage, status);
  return kube_patch_status(populator->client, kind, storage, json_object_get(status), err);
}

const struct controller storage_controller = {
    .name = "storage", .kind = &hypercloud_storages, .reconcile = reconcile};

static bool
is_same(const struct kube_object *before, const struct kube_object *after)
{
  return before->generation == after->generation && strcmp(before->uid, after->uid) == 0 &&
         before->is_deleting == after->is_deleting;
}

/* Of what we write ourselves there is nothing to be learnt. */
void
storage_changed(void *context, const struct kube_object *before, const struct kube_object *after)
{
  const struct kube_object *storage = after ? after : before;
  if (storage && !(before && after && is_same(before, after)))
    populator_wake(context, &storage_controller, storage->ns, storage->name);
}
