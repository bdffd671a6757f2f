/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/populator.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "populator/controllers/running.h"
#include "populator/objects/condition.h"

#define THREADS 8

char *
populator_key(const struct controller *controller, const char *ns, const char *name)
{
  return xasprintf("%s/%s/%s", controller->name, ns, name);
}

void
populator_wake(struct populator *populator, const struct controller *controller, const char *ns,
               const char *name)
{
  CLEANUP(freep) char *key = populator_key(controller, ns, name);
  work_queue_add(populator->queue, key);
}

/* ---- from a key to its controller -------------------------------------------------------------
 */

static const struct controller *const controllers[] = {
    &image_controller,
    &volume_controller,
    &pvc_controller,
    &claim_controller,
};

/* "image/default/ubuntu" taken apart; *ret_ns and *ret_name point into the copy, to be freed. */
static char *
take_apart(const char *key, const struct controller **ret_controller, const char **ret_ns,
           const char **ret_name)
{
  char *copy = xstrdup(key);
  char *ns = strchr(copy, '/');
  *ns++ = '\0';
  char *name = strchr(ns, '/');
  *name++ = '\0';
  *ret_ns = ns;
  *ret_name = name;
  for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
    if (strcmp(controllers[i]->name, copy) == 0)
      *ret_controller = controllers[i];
  }
  return copy;
}

static struct kube_mirror *
mirror_of(struct populator *populator, const struct controller *controller)
{
  if (controller == &image_controller)
    return populator->images;
  if (controller == &volume_controller)
    return populator->volumes;
  return controller == &pvc_controller ? populator->pvcs : populator->claims;
}

static int64_t
work(void *context, const char *key)
{
  struct populator *populator = context;
  const struct controller *controller = NULL;
  const char *ns;
  const char *name;
  CLEANUP(freep) char *copy = take_apart(key, &controller, &ns, &name);
  CLEANUP(kube_object_releasep)
  struct kube_object *object = kube_mirror_get(mirror_of(populator, controller), ns, name);
  if (!object) {
    transfers_forget(populator->transfers, key);
    return WORK_DONE;
  }
  int64_t again_ms = WORK_DONE;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (controller->reconcile(populator, object, &again_ms, &failure) == 0)
    return again_ms;
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
transfer_is_wanted(void *context, const char *key)
{
  struct populator *populator = context;
  const struct controller *controller = NULL;
  const char *ns;
  const char *name;
  CLEANUP(freep) char *copy = take_apart(key, &controller, &ns, &name);
  CLEANUP(kube_object_releasep) struct kube_object *object = NULL;
  if (kube_get(populator->client, controller->kind, ns, name, &object, NULL) < 0)
    return false;
  const char *state = condition_state(object);
  return !object->is_deleting && strcmp(state, "Available") != 0 &&
         strcmp(state, "Completed") != 0 && strcmp(state, "Error") != 0;
}

/* ---- start and stop ---------------------------------------------------------------------------
 */

/* How long the first lists may take before the server is given up. */
#define LIST_MS 60000

static struct kube_mirror *
make_mirror(struct populator *populator, const struct kube_kind *kind, bool is_optional,
            void (*changed)(void *, const struct kube_object *, const struct kube_object *))
{
  const struct kube_mirror_options options = {
      .kind = kind, .is_optional = is_optional, .changed = changed, .context = populator};
  return kube_mirror_new(populator->client, &options);
}

static void
make_mirrors(struct populator *p)
{
  p->storage_classes = make_mirror(p, &kube_storage_classes, false, surroundings_changed);
  p->reference_grants = make_mirror(p, &kube_reference_grants, true, surroundings_changed);
  p->claims = make_mirror(p, &kube_persistent_volume_claims, false, claim_changed);
  p->volumes = make_mirror(p, &virtual_machine_volumes, false, volume_changed);
  p->pvcs = make_mirror(p, &virtual_machine_pvcs, false, pvc_changed);
  p->images = make_mirror(p, &virtual_machine_images, false, image_changed);
}

struct populator *
populator_new(const struct populator_options *options)
{
  struct populator *populator = xcalloc(1, sizeof(*populator));
  populator->driver = options->driver;
  populator->clusters_file = options->clusters_file;
  populator->allow_local_addresses = options->allow_local_addresses;
  populator->object_store = options->object_store;
  populator->client = options->client;
  populator->events = kube_events_new(options->client, "imprint-populator");
  populator->controller = rpc_client_open(options->endpoint);
  const struct transfers_options transfers = {.client = options->client,
                                              .ns = kube_client_namespace(options->client),
                                              .identity = options->identity,
                                              .worker = options->worker,
                                              .max_running = options->max_transfers,
                                              .is_wanted = transfer_is_wanted,
                                              .changed = transfer_changed,
                                              .context = populator};
  const struct work_queue_options queue = {
      .name = "reconcile", .threads = THREADS, .work = work, .context = populator};
  populator->transfers = transfers_new(&transfers);
  populator->queue = work_queue_new(&queue);
  make_mirrors(populator);
  return populator;
}

#define MIRRORS(p)                                                                                 \
  {                                                                                                \
    (p)->storage_classes, (p)->reference_grants, (p)->claims, (p)->volumes, (p)->pvcs, (p)->images \
  }
#define MIRROR_COUNT 6

int
populator_start(struct populator *populator, struct error **err)
{
  struct kube_mirror *const mirrors[MIRROR_COUNT] = MIRRORS(populator);
  for (size_t i = 0; i < MIRROR_COUNT; i++)
    kube_mirror_start(mirrors[i]);
  /* Decisions on half of the picture would be wrong ones. */
  int64_t deadline_ms = clock_now_ms() + LIST_MS;
  for (size_t i = 0; i < MIRROR_COUNT; i++) {
    if (!kube_mirror_wait(mirrors[i], deadline_ms))
      return error_set(err, ERROR_UNAVAILABLE,
                       "the API server does not list %s: is the chart's CRD installed, and may "
                       "this service account list it?",
                       kube_mirror_kind(mirrors[i])->plural);
  }
  work_queue_start(populator->queue);
  return 0;
}

void
populator_stop(struct populator *populator)
{
  kube_client_cancel(populator->client);
  transfers_stop(populator->transfers);
  work_queue_stop(populator->queue);
}

void
populator_free(struct populator *populator)
{
  if (!populator)
    return;
  struct kube_mirror *const mirrors[MIRROR_COUNT] = MIRRORS(populator);
  for (size_t i = 0; i < MIRROR_COUNT; i++)
    kube_mirror_free(mirrors[i]);
  transfers_free(populator->transfers);
  work_queue_free(populator->queue);
  kube_events_free(populator->events);
  rpc_client_close(populator->controller);
  free(populator);
}
