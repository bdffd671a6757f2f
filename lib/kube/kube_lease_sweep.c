/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/kube_lease_sweep.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/kube/kube_lease.h"
#include "lib/kube/kube_write.h"

#define SWEEP_MS 20000
/* How many times as long as it is good a lease may go without a renewal. Whoever wants it has taken
 * it by then. */
#define DEAD_DURATIONS 2
/* The others are for the next time. */
#define AT_ONCE "500"

struct kube_lease_sweeper {
  struct kube_client *client;
  char *ns;
  pthread_t thread;
  struct json_object *seen; /* name: {version, since}, of the last list */
};

static int
list(struct kube_lease_sweeper *sweeper, struct json_object **ret_list, struct error **err)
{
  CLEANUP(freep) char *path = kube_kind_path(&kube_leases, sweeper->ns, NULL, NULL);
  const struct kube_request request = {
      .path = path, .query = "limit=" AT_ONCE "&labelSelector=" KUBE_LEASE_SELECTOR};
  return kube_client_send(sweeper->client, &request, ret_list, err);
}

/* Since when it is as it is, by our clock: others' may be wrong. */
static int64_t
unchanged_since(struct kube_lease_sweeper *sweeper, const struct kube_object *lease, int64_t now_ms)
{
  const char *version = json_text(sweeper->seen, lease->name, "version");
  return version && strcmp(version, lease->version) == 0
             ? json_number(sweeper->seen, lease->name, "since")
             : now_ms;
}

static bool
is_dead(const struct kube_object *lease, int64_t unchanged_ms)
{
  int64_t duration_s = json_number(lease->json, "spec", "leaseDurationSeconds");
  return unchanged_ms > 0 && unchanged_ms / 1000 >= DEAD_DURATIONS * duration_s;
}

static void
remove_dead(struct kube_lease_sweeper *sweeper, const struct kube_object *lease)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_delete_unchanged(sweeper->client, &kube_leases, lease, &failure) == 0)
    log_info("lease %s was left behind: removed", lease->name);
  else
    log_debug("lease %s: %s", lease->name, failure->message); /* taken just now, for one */
}

static int
sweep(struct kube_lease_sweeper *sweeper, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *answer = NULL;
  if (list(sweeper, &answer, err) < 0)
    return -1;
  int64_t now_ms = clock_now_ms();
  struct json_object *seen = json_object_new_object();
  struct json_object *items = json_at(answer, "items");
  for (size_t i = 0; i < json_count(items); i++) {
    CLEANUP(kube_object_releasep)
    struct kube_object *lease = kube_object_new(json_object_get(json_item(items, i)));
    if (!lease)
      continue;
    int64_t since_ms = unchanged_since(sweeper, lease, now_ms);
    if (is_dead(lease, now_ms - since_ms))
      remove_dead(sweeper, lease);
    json_put_text(seen, lease->version, lease->name, "version");
    json_put_at(seen, json_object_new_int64(since_ms), lease->name, "since");
  }
  json_object_put(sweeper->seen);
  sweeper->seen = seen;
  return 0;
}

static void *
run(void *arg)
{
  struct kube_lease_sweeper *sweeper = arg;
  (void)pthread_setname_np(pthread_self(), "leases");
  do {
    CLEANUP(error_freep) struct error *failure = NULL;
    if (sweep(sweeper, &failure) < 0 && failure->code != ERROR_CANCELLED)
      log_debug("leases: %s", failure->message);
  } while (kube_client_sleep(sweeper->client, SWEEP_MS));
  return NULL;
}

struct kube_lease_sweeper *
kube_lease_sweeper_start(struct kube_client *client, const char *ns)
{
  struct kube_lease_sweeper *sweeper = xcalloc(1, sizeof(*sweeper));
  sweeper->client = client;
  sweeper->ns = xstrdup(ns);
  if (pthread_create(&sweeper->thread, NULL, run, sweeper) != 0)
    abort(); /* no program runs without its threads */
  return sweeper;
}

void
kube_lease_sweeper_free(struct kube_lease_sweeper *sweeper)
{
  if (!sweeper)
    return;
  (void)pthread_join(sweeper->thread, NULL);
  json_object_put(sweeper->seen);
  free(sweeper->ns);
  free(sweeper);
}
