/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/populator.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/kube/json.h"
#include "lib/kube/kube_lease_sweep.h"
#include "populator/controllers/export_discard.h"
#include "populator/controllers/golden_metrics.h"
#include "populator/controllers/running.h"
#include "populator/controllers/task.h"
#include "populator/objects/condition.h"
#include "populator/objects/golden_wish.h"
#include "populator/objects/retry.h"
#include "populator/work/volumes.h"

/* Most of the time of each is spent waiting for the API server or Ceph. */
#define THREADS 32
/* Questions to servers: a host that is down keeps two of them busy, the others go on. */
#define LOOKUPS 8
#define LOOKUPS_OF_HOST 2
#define LOOKUP_MS 45000
/* Kubernetes binds a volume within moments. If it does not, it is looked at again. */
#define HANDED_OVER 512
#define DISCARDED 512
#define HANDED_OVER_MS 5000
/* What golden images cannot be made for is logged so often. */
#define GOLDEN_TOLD 64
#define GOLDEN_TOLD_MS 600000

char *
populator_key(const struct controller *controller, const char *ns, const char *name)
{
  return xasprintf("%s/%s/%s", controller->name, ns, name);
}

void
populator_add_network(const struct populator *populator, struct json_object *job)
{
  if (populator->allow_local_addresses)
    json_put_at(job, json_object_new_boolean(true), "allow-local-addresses");
  if (populator->allow_network)
    json_put_text(job, populator->allow_network, "allow-network");
}

void
populator_wake(struct populator *populator, const struct controller *controller, const char *ns,
               const char *name)
{
  CLEANUP(freep) char *key = populator_key(controller, ns, name);
  work_queue_add(populator->queue, key);
}

/* ---- what is followed -------------------------------------------------------------------------
 */

static const struct {
  size_t offset; /* of the mirror in struct populator */
  const struct kube_kind *kind;
  void (*changed)(void *context, const struct kube_object *before, const struct kube_object *after);
  bool is_optional;
} mirrors[] = {
    {offsetof(struct populator, storage_classes), &kube_storage_classes, surroundings_changed,
     false},
    {offsetof(struct populator, reference_grants), &kube_reference_grants, surroundings_changed,
     true},
    {offsetof(struct populator, snapshots), &kube_volume_snapshots, snapshot_changed, true},
    {offsetof(struct populator, data_sources), &data_sources, data_source_changed, true},
    {offsetof(struct populator, data_volumes), &data_volumes, data_volume_changed, true},
    {offsetof(struct populator, data_import_crons), &data_import_crons, data_import_cron_changed,
     true},
    {offsetof(struct populator, claims), &kube_persistent_volume_claims, claim_changed, false},
    {offsetof(struct populator, volumes), &virtual_machine_volumes, volume_changed, false},
    {offsetof(struct populator, pvcs), &virtual_machine_pvcs, pvc_changed, false},
    {offsetof(struct populator, images), &virtual_machine_images, image_changed, false},
    {offsetof(struct populator, exports), &virtual_machine_volume_exports, export_changed, false},
    {offsetof(struct populator, rollbacks), &virtual_machine_volume_rollbacks, rollback_changed,
     false},
    {offsetof(struct populator, storages), &hypercloud_storages, storage_changed, true},
    {offsetof(struct populator, golden), &kube_config_maps, golden_images_changed, false},
};

#define MIRRORS (sizeof(mirrors) / sizeof(mirrors[0]))

static struct kube_mirror **
mirror_at(struct populator *populator, size_t index)
{
  return (struct kube_mirror **)(void *)((char *)populator + mirrors[index].offset);
}

/* ---- from a key to its controller -------------------------------------------------------------
 */

static const struct controller *const controllers[] = {
    &image_controller,       &volume_controller,        &pvc_controller,
    &claim_controller,       &export_controller,        &rollback_controller,
    &data_source_controller, &data_volume_controller,   &data_import_cron_controller,
    &storage_controller,     &golden_images_controller,
};

/* "image/default/ubuntu" taken apart. */
struct key {
  char *text; /* what the others point into */
  const struct controller *controller;
  const char *ns;
  const char *name;
};

static void
key_clear(struct key *key)
{
  free(key->text);
}

static void
key_parse(const char *text, struct key *ret_key)
{
  char *copy = xstrdup(text);
  char *ns = strchr(copy, '/');
  *ns++ = '\0';
  char *name = strchr(ns, '/');
  *name++ = '\0';
  *ret_key = (struct key){.text = copy, .ns = ns, .name = name};
  for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
    if (strcmp(controllers[i]->name, copy) == 0)
      ret_key->controller = controllers[i];
  }
}

static struct kube_mirror *
mirror_of(struct populator *populator, const struct controller *controller)
{
  for (size_t i = 0; i < MIRRORS; i++) {
    struct kube_mirror *mirror = *mirror_at(populator, i);
    if (kube_mirror_kind(mirror) == controller->kind)
      return mirror;
  }
  return NULL;
}

/* One step for what the key names. */
static int
reconcile(struct populator *populator, const char *text, int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(key_clear) struct key key;
  key_parse(text, &key);
  CLEANUP(kube_object_releasep)
  struct kube_object *object =
      kube_mirror_get(mirror_of(populator, key.controller), key.ns, key.name);
  if (object)
    return key.controller->reconcile(populator, object, ret_again_ms, err);
  transfers_forget(populator->transfers, text);
  lookups_forget(populator->lookups, text);
  return 0;
}

static void
count_reconcile(struct populator *populator, const char *key, const char *result)
{
  series_add(populator->counters, 1, "imprint_reconciles_total{controller=\"%.*s\",result=\"%s\"}",
             (int)strcspn(key, "/"), key, result);
}

static int64_t
work(void *context, const char *key)
{
  int64_t again_ms = WORK_DONE;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (reconcile(context, key, &again_ms, &failure) == 0) {
    count_reconcile(context, key, "ok");
    return again_ms;
  }
  bool is_passing = failure->code == ERROR_ABORTED || failure->code == ERROR_NOT_FOUND ||
                    failure->code == ERROR_CANCELLED;
  count_reconcile(context, key, is_passing ? "again" : "error");
  /* A copy that was behind is nothing to tell of: the change that made it so calls again. */
  if (failure->code == ERROR_ABORTED || failure->code == ERROR_NOT_FOUND)
    log_debug("%s: %s", key, failure->message);
  else if (failure->code != ERROR_CANCELLED)
    log_warn("%s: %s", key, failure->message);
  return WORK_FAILED;
}

/* ---- transfers --------------------------------------------------------------------------------
 */

static void
transfer_changed(void *context, const char *key)
{
  struct populator *populator = context;
  work_queue_add(populator->queue, key);
}

/* The lease is ours now. Whoever had it before may have come to the end. */
static bool
transfer_is_wanted(void *context, const char *text, const char *verb)
{
  struct populator *populator = context;
  CLEANUP(key_clear) struct key key;
  key_parse(text, &key);
  CLEANUP(kube_object_releasep) struct kube_object *object = NULL;
  if (kube_get(populator->client, key.controller->kind, key.ns, key.name, &object, NULL) < 0)
    return false;
  if (object->is_deleting)
    return task_is_wanted_behind(object, verb);
  static const char *const ends[] = {"Available", "Completed", "Error", "Succeeded", "Failed"};
  const char *phase = json_text(object->json, "status", "phase");
  const char *state = phase ? phase : condition_state(object);
  for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
    if (strcmp(state, ends[i]) == 0)
      return false;
  }
  return retry_wait_ms(object) == 0;
}

/* Half a rollback is to be known as such, whoever dies; all else may begin anew. */
static bool
transfer_note(void *context, const char *text, const char *verb)
{
  struct populator *populator = context;
  CLEANUP(key_clear) struct key key;
  key_parse(text, &key);
  CLEANUP(kube_object_releasep) struct kube_object *object = NULL;
  if (strcmp(verb, TASK_ROLLBACK) != 0)
    return true;
  if (kube_get(populator->client, key.controller->kind, key.ns, key.name, &object, NULL) < 0)
    return false;
  return task_note_rollback(populator, object);
}

/* ---- start and stop ---------------------------------------------------------------------------
 */

/* How long the first lists may take before the server is given up. */
#define LIST_MS 60000
/* How long what is known may be old before others are to be asked. */
#define CUT_OFF_MS 60000

static void
mirror_cut_off(void *context, const struct kube_kind *followed, const struct error *failure)
{
  (void)context;
  if (failure)
    log_warn("%s cannot be followed, and changes are not seen: %s", followed->plural,
             failure->message);
  else
    log_info("%s are followed again", followed->plural);
}

static void
make_mirrors(struct populator *populator)
{
  const char *own_ns = kube_client_namespace(populator->client);
  for (size_t i = 0; i < MIRRORS; i++) {
    bool is_golden = mirrors[i].kind == &kube_config_maps; /* we may see no other one */
    const struct kube_mirror_options options = {.kind = mirrors[i].kind,
                                                .ns = is_golden ? own_ns : NULL,
                                                .name = is_golden ? populator->golden_images : NULL,
                                                .is_optional = mirrors[i].is_optional,
                                                .changed = mirrors[i].changed,
                                                .cut_off = mirror_cut_off,
                                                .context = populator};
    *mirror_at(populator, i) = kube_mirror_new(populator->client, &options);
  }
}

static void
init_golden(struct populator *populator, const char *config_map)
{
  populator->golden_images = config_map;
  populator->golden_told = recent_new(GOLDEN_TOLD, GOLDEN_TOLD_MS);
  atomic_init(&populator->golden_minute, GOLDEN_WISH_NO_MINUTE);
}

struct populator *
populator_new(const struct populator_options *options)
{
  struct populator *populator = xcalloc(1, sizeof(*populator));
  populator->driver = options->driver;
  populator->identity = options->identity;
  populator->is_without_cdi = options->is_without_cdi;
  populator->node = options->node;
  populator->host_images = options->host_images;
  populator->download_url = options->download_url;
  init_golden(populator, options->golden_images);
  populator->clusters_file = options->clusters_file;
  populator->allow_local_addresses = options->allow_local_addresses;
  populator->allow_network = options->allow_network;
  populator->object_store = options->object_store;
  populator->client = options->client;
  populator->counters = series_new();
  populator->discard_s = options->discard_s;
  populator->upload_expiry_s = options->upload_expiry_s;
  populator->discarded = recent_new(DISCARDED, EXPORT_DISCARD_PAUSE_MS);
  populator->handed_over = recent_new(HANDED_OVER, HANDED_OVER_MS);
  populator->events = kube_events_new(options->client, "imprint-populator");
  populator->controller = rpc_client_open(options->endpoint);
  const struct transfers_options transfers = {.client = options->client,
                                              .ns = kube_client_namespace(options->client),
                                              .identity = options->identity,
                                              .worker = options->worker,
                                              .max_running = options->max_transfers,
                                              .counters = populator->counters,
                                              .is_wanted = transfer_is_wanted,
                                              .note = transfer_note,
                                              .changed = transfer_changed,
                                              .context = populator};
  const struct work_queue_options queue = {
      .name = "reconcile", .threads = THREADS, .work = work, .context = populator};
  const struct lookups_options lookups = {.worker = options->worker,
                                          .max_running = LOOKUPS,
                                          .max_of_host = LOOKUPS_OF_HOST,
                                          .timeout_ms = LOOKUP_MS,
                                          .changed = transfer_changed,
                                          .context = populator};
  populator->transfers = transfers_new(&transfers);
  populator->lookups = lookups_new(&lookups);
  populator->queue = work_queue_new(&queue);
  make_mirrors(populator);
  return populator;
}

/* Where somebody else serves KubeVirt's kinds, there are none of them for us; on a node there are
 * only images. */
static bool
is_followed(const struct populator *populator, size_t index)
{
  if (populator->node)
    return mirrors[index].kind == &virtual_machine_images;
  if (mirrors[index].kind == &kube_config_maps)
    return populator->golden_images && !populator->is_without_cdi;
  return !populator->is_without_cdi || strcmp(mirrors[index].kind->group, KINDS_CDI_GROUP) != 0;
}

/* What to do about a kind that the API server does not list. */
static const char *
advice_of(enum error_code code)
{
  switch (code) {
  case ERROR_NOT_FOUND:
    return "; the chart installs its definition";
  case ERROR_UNAUTHENTICATED:
    return "; the token or certificate that we come with is not accepted: has it expired?";
  case ERROR_PERMISSION_DENIED:
    return "; the chart's role gives this right";
  default:
    return "";
  }
}

static int
await_list(struct kube_mirror *mirror, int64_t deadline_ms, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_mirror_wait(mirror, deadline_ms, &failure) == 0)
    return 0;
  return error_set(err, failure->code, "the API server does not list %s: %s%s",
                   kube_mirror_kind(mirror)->plural, failure->message, advice_of(failure->code));
}

int
populator_start(struct populator *populator, struct error **err)
{
  for (size_t i = 0; i < MIRRORS; i++) {
    if (is_followed(populator, i))
      kube_mirror_start(*mirror_at(populator, i));
  }
  /* Decisions on half of the picture would be wrong ones. */
  int64_t deadline_ms = clock_now_ms() + LIST_MS;
  for (size_t i = 0; i < MIRRORS; i++) {
    if (is_followed(populator, i) && await_list(*mirror_at(populator, i), deadline_ms, err) < 0)
      return -1;
  }
  work_queue_start(populator->queue);
  if (!populator->node) /* one for all */
    populator->lease_sweeper =
        kube_lease_sweeper_start(populator->client, kube_client_namespace(populator->client));
  atomic_store(&populator->is_started, true);
  return 0;
}

void
populator_stop(struct populator *populator)
{
  kube_client_cancel(populator->client);
  transfers_stop(populator->transfers);
  lookups_stop(populator->lookups);
  work_queue_stop(populator->queue);
}

/* ---- how it fares -----------------------------------------------------------------------------
 */

int
populator_check(struct populator *populator, struct error **err)
{
  if (!atomic_load(&populator->is_started))
    return error_set(err, ERROR_UNAVAILABLE, "objects are still being listed");
  for (size_t i = 0; i < MIRRORS; i++) {
    int64_t ms = kube_mirror_cut_off_ms(*mirror_at(populator, i));
    if (ms > CUT_OFF_MS)
      return error_set(err, ERROR_UNAVAILABLE,
                       "the API server has not let us follow %s for %" PRId64 " seconds",
                       mirrors[i].kind->plural, ms / 1000);
  }
  if (populator->node)
    return 0; /* there is no controller plugin beside it */
  return volumes_probe(populator->controller, err);
}

/* Kinds that something is done for, by the state they are in. */
static void
count_objects(struct kube_mirror *mirror, struct series *gauges)
{
  CLEANUP(kube_objects_freep) struct kube_object **all = kube_mirror_all(mirror, NULL);
  for (size_t i = 0; all[i]; i++) {
    const char *state = condition_state(all[i]);
    const char *phase = json_text(all[i]->json, "status", "phase");
    series_add(gauges, 1, "imprint_objects{kind=\"%s\",state=\"%s\"}",
               kube_mirror_kind(mirror)->kind,
               *state  ? state
               : phase ? phase
                       : "New");
  }
}

void
populator_metrics(struct populator *populator, struct buffer *text)
{
  static const struct series_meaning meanings[] = {
      {"imprint_objects", "gauge", "Objects by kind and state."},
      {"imprint_transfers", "gauge", "Transfers that this populator knows of, by state."},
      {"imprint_transfers_total", "counter", "Transfers that came to an end."},
      {"imprint_transfer_bytes_total", "counter", "Bytes that transfers fetched or sent."},
      {"imprint_reconciles_total", "counter", "Objects looked at, by controller and result."},
      {"imprint_queue_waiting", "gauge", "Objects that wait to be looked at."},
      {"imprint_watch_cut_off_seconds", "gauge",
       "Since when a kind cannot be followed at the API server; 0: it is followed."},
      GOLDEN_METRICS_MEANINGS,
      {NULL, NULL, NULL},
  };
  CLEANUP(series_freep) struct series *gauges = series_new();
  transfers_count(populator->transfers, gauges);
  for (size_t i = 0; i < MIRRORS; i++) {
    bool is_ours = strcmp(mirrors[i].kind->group, KINDS_GROUP) == 0 ||
                   strcmp(mirrors[i].kind->group, KINDS_CDI_GROUP) == 0;
    if (is_ours && !populator->node) /* else each node would tell of all */
      count_objects(*mirror_at(populator, i), gauges);
    if (is_followed(populator, i))
      series_add(gauges, (uint64_t)kube_mirror_cut_off_ms(*mirror_at(populator, i)) / 1000,
                 "imprint_watch_cut_off_seconds{kind=\"%s\"}", mirrors[i].kind->kind);
  }
  series_add(gauges, work_queue_waiting(populator->queue), "imprint_queue_waiting");
  golden_metrics_add(populator, gauges);
  series_render(gauges, meanings, text);
  series_render(populator->counters, meanings, text);
}

void
populator_free(struct populator *populator)
{
  if (!populator)
    return;
  for (size_t i = 0; i < MIRRORS; i++)
    kube_mirror_free(*mirror_at(populator, i));
  kube_lease_sweeper_free(populator->lease_sweeper);
  transfers_free(populator->transfers);
  lookups_free(populator->lookups);
  work_queue_free(populator->queue);
  kube_events_free(populator->events);
  rpc_client_close(populator->controller);
  series_free(populator->counters);
  recent_free(populator->handed_over);
  recent_free(populator->discarded);
  recent_free(populator->golden_told);
  free(populator);
}
