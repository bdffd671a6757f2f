/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/kube_lease.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/kube/kube_time.h"
#include "lib/kube/kube_write.h"

/* An API server that is busy for a moment. */
#define RELEASE_TRIES 5
#define RELEASE_PAUSE_MS 1000

struct kube_lease {
  struct kube_client *client;
  char *ns;
  char *name;
  char *holder;
  unsigned duration_s;
  char *seen_version;    /* of another holder's lease, and … */
  int64_t seen_at_ms;    /* … since when it is like that */
  int64_t held_until_ms; /* 0: not held */
};

struct kube_lease *
kube_lease_new(struct kube_client *client, const char *ns, const char *name, const char *holder,
               unsigned duration_s)
{
  struct kube_lease *lease = xcalloc(1, sizeof(*lease));
  lease->client = client;
  lease->ns = xstrdup(ns);
  lease->name = xstrdup(name);
  lease->holder = xstrdup(holder);
  lease->duration_s = duration_s;
  return lease;
}

void
kube_lease_free(struct kube_lease *lease)
{
  if (!lease)
    return;
  free(lease->ns);
  free(lease->name);
  free(lease->holder);
  free(lease->seen_version);
  free(lease);
}

bool
kube_lease_is_held(const struct kube_lease *lease)
{
  return clock_now_ms() < lease->held_until_ms;
}

static struct json_object *
spec_of(const struct kube_lease *lease, bool is_new)
{
  char now[KUBE_TIME_BYTES];
  (void)kube_time_now_micro(now);
  struct json_object *spec = json_object_new_object();
  json_put_text(spec, lease->holder, "holderIdentity");
  json_put_at(spec, json_object_new_int64(lease->duration_s), "leaseDurationSeconds");
  json_put_text(spec, now, "renewTime");
  if (is_new)
    json_put_text(spec, now, "acquireTime");
  return spec;
}

static int
make(struct kube_lease *lease, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *json = json_object_new_object();
  json_put_text(json, lease->ns, "metadata", "namespace");
  json_put_text(json, lease->name, "metadata", "name");
  json_put_text(json, KUBE_LEASE_MANAGER, "metadata", "labels", KUBE_LEASE_LABEL);
  json_put_at(json, spec_of(lease, true), "spec");
  return kube_create(lease->client, &kube_leases, json, NULL, err);
}

/* The version goes along: of two that try, one is ABORTED. */
static int
take(struct kube_lease *lease, const struct kube_object *present, bool is_new, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  json_put_text(patch, present->version, "metadata", "resourceVersion");
  json_put_at(patch, spec_of(lease, is_new), "spec");
  return kube_patch(lease->client, &kube_leases, present, NULL, patch, err);
}

/* Whether a lease of another one has not been renewed for as long as it is good. */
static bool
has_run_out(struct kube_lease *lease, const struct kube_object *present)
{
  int64_t now_ms = clock_now_ms();
  if (!lease->seen_version || strcmp(lease->seen_version, present->version) != 0) {
    free(lease->seen_version);
    lease->seen_version = xstrdup(present->version);
    lease->seen_at_ms = now_ms;
  }
  int64_t duration_s = json_number(present->json, "spec", "leaseDurationSeconds");
  return now_ms - lease->seen_at_ms > duration_s * 1000;
}

/* Takes what is there, or leaves it: *ret_is_held. */
static int
contend(struct kube_lease *lease, const struct kube_object *present, bool *ret_is_held,
        struct error **err)
{
  const char *holder = json_text(present->json, "spec", "holderIdentity");
  bool is_ours = holder && strcmp(holder, lease->holder) == 0;
  if (!is_ours && holder && *holder && !has_run_out(lease, present))
    return 0;
  if (take(lease, present, !is_ours, err) < 0)
    return -1;
  *ret_is_held = true;
  return 0;
}

int
kube_lease_try(struct kube_lease *lease, bool *ret_is_held, struct error **err)
{
  int64_t until_ms = clock_now_ms() + (int64_t)lease->duration_s * 1000;
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(kube_object_releasep) struct kube_object *present = NULL;
  *ret_is_held = false;
  int r = kube_get(lease->client, &kube_leases, lease->ns, lease->name, &present, &failure);
  if (r == 0) {
    r = contend(lease, present, ret_is_held, &failure);
  } else if (failure->code == ERROR_NOT_FOUND) {
    error_free(TAKE(failure));
    r = make(lease, &failure);
    *ret_is_held = r == 0;
  }
  if (r < 0 && failure->code != ERROR_ABORTED && failure->code != ERROR_ALREADY_EXISTS)
    return error_set(err, failure->code, "%s", failure->message);
  lease->held_until_ms = *ret_is_held ? until_ms : 0; /* another one was faster */
  return 0;
}

static int
remove_ours(struct kube_lease *lease, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(kube_object_releasep) struct kube_object *present = NULL;
  if (kube_get(lease->client, &kube_leases, lease->ns, lease->name, &present, &failure) < 0)
    return failure->code == ERROR_NOT_FOUND ? 0
                                            : error_set(err, failure->code, "%s", failure->message);
  const char *holder = json_text(present->json, "spec", "holderIdentity");
  if (!holder || strcmp(holder, lease->holder) != 0)
    return 0;
  return kube_delete(lease->client, &kube_leases, present, err);
}

int
kube_lease_release(struct kube_lease *lease, struct error **err)
{
  lease->held_until_ms = 0;
  for (unsigned tries = 1;; tries++) {
    CLEANUP(error_freep) struct error *failure = NULL;
    if (remove_ours(lease, &failure) == 0)
      return 0;
    if (tries == RELEASE_TRIES || !kube_client_sleep(lease->client, RELEASE_PAUSE_MS))
      return error_set(err, failure->code, "%s", failure->message);
  }
}
