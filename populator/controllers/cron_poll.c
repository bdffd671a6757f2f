/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule's time is the same for all who share it, so each cron waits some time of its own
 * behind it, always the same. When a server cannot be asked, it is asked again before the next
 * time: soon at first, then more seldom. */
#include "populator/controllers/cron_poll.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/cron.h"
#include "lib/base/memory.h"
#include "lib/kube/kube_time.h"
#include "populator/controllers/clone_permission.h"
#include "populator/controllers/cron_status.h"
#include "populator/controllers/data_volume_status.h"
#include "populator/controllers/import_source.h"
#include "populator/objects/source_link.h"

#define JITTER_MAX_S 600
/* Of one question. */
#define RETRIES 1
#define STALL_S 8
#define RETRY_FIRST_S 15
#define POLL_DOUBLINGS 6
#define IMPORT_DOUBLINGS 10
#define CLOCKS_DIFFER_S 3600
/* Several populators do not ask at once; whoever is first is seen by the others. */
#define REPLICAS_MS 3000

struct json_object *
cron_poll_source(const struct kube_object *cron)
{
  struct json_object *source = json_at(cron->json, "spec", "source");
  return source ? source : json_at(cron->json, "spec", "template", "spec", "source");
}

void
cron_finding_clear(struct cron_finding *finding)
{
  free(finding->identity);
  free(finding->url);
  free(finding->problem);
  *finding = (struct cron_finding){0};
}

static char *
key_of(const char *ns, const char *name)
{
  return populator_key(&data_import_cron_controller, ns, name);
}

void
cron_poll_forget(struct populator *populator, const char *ns, const char *name)
{
  CLEANUP(freep) char *key = key_of(ns, name);
  lookups_forget(populator->lookups, key);
}

/* ---- when -------------------------------------------------------------------------------------
 */

static bool
is_asked_for(const struct kube_object *cron)
{
  const char *wanted = kube_object_annotation(cron, ANNOTATION_POLL);
  const char *handled = json_text(cron->json, "status", "lastPollRequest");
  return wanted && (!handled || strcmp(wanted, handled) != 0);
}

/* The schedule's next time behind the last look, and the cron's own wait. */
static int
scheduled_s(const struct kube_object *cron, const char *schedule, int64_t last_s, int64_t *ret_at_s,
            struct error **err)
{
  CLEANUP(cron_clear) struct cron times = {0};
  CLEANUP(freep) char *name = xasprintf("%s/%s", cron->ns, cron->name);
  int64_t at_s;
  int64_t following_s;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (cron_parse(schedule, &times, &failure) < 0) /* NOT_FOUND, say: of a zone, not of an object */
    return error_set(err, ERROR_INVALID_ARGUMENT, "spec.schedule: %s", failure->message);
  if (cron_next(&times, last_s, &at_s, NULL) < 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "spec.schedule '%s' never comes", schedule);
  if (cron_next(&times, at_s, &following_s, NULL) < 0)
    following_s = at_s + JITTER_MAX_S;
  int64_t window_s = (following_s - at_s) / 2;
  *ret_at_s = at_s + cron_jitter_s(name, window_s < JITTER_MAX_S ? window_s : JITTER_MAX_S);
  return 0;
}

static int64_t
retry_s(int64_t failures, int doublings)
{
  return (int64_t)RETRY_FIRST_S << (failures < doublings ? failures : doublings);
}

/* The newest version could not be imported. It is not waited for the schedule, which may be far
 * off: whoever mends the source, or replaces the version, is to be noticed. */
static bool
is_import_failed(struct populator *populator, const struct kube_object *cron)
{
  const char *name = json_text(cron_status_import(cron), "DataVolumeName");
  CLEANUP(kube_object_releasep)
  struct kube_object *volume = kube_mirror_get(populator->data_volumes, cron->ns, name ? name : "");
  return volume && strcmp(data_volume_status_phase(volume), "Failed") == 0;
}

/* What was found was an answer to another question. */
static bool
is_changed(const struct kube_object *cron)
{
  struct json_object *asked = json_at(cron->json, "status", "observedGeneration");
  return asked && json_object_get_int64(asked) != cron->generation;
}

/* The time of the last look; false when there was none, or a clock was wrong then. */
static bool
last_s(const struct kube_object *cron, time_t *ret_last)
{
  const char *text = json_text(cron->json, "status", "lastExecutionTimestamp");
  return kube_time_parse(text, ret_last) == 0 && *ret_last < time(NULL) + CLOCKS_DIFFER_S;
}

/* When to look next, in seconds since 1970; INT64_MAX: never. */
static int
due_s(struct populator *populator, const struct kube_object *cron, int64_t *ret_at_s,
      struct error **err)
{
  const char *schedule = json_text(cron->json, "spec", "schedule");
  int64_t failures = json_number(cron->json, "status", "failedPolls");
  int64_t imports = json_number(cron->json, "status", "failedImports");
  time_t last = 0;
  *ret_at_s = INT64_MAX;
  bool is_first = !last_s(cron, &last);
  if (schedule && *schedule && scheduled_s(cron, schedule, is_first ? 0 : last, ret_at_s, err) < 0)
    return -1;
  bool is_polled = *ret_at_s != INT64_MAX;
  if (is_asked_for(cron) || (is_polled && (is_first || is_changed(cron))))
    *ret_at_s = 0;
  if (failures > 0 && last + retry_s(failures, POLL_DOUBLINGS) < *ret_at_s)
    *ret_at_s = last + retry_s(failures, POLL_DOUBLINGS);
  if (is_import_failed(populator, cron) && last + retry_s(imports, IMPORT_DOUBLINGS) < *ret_at_s)
    *ret_at_s = last + retry_s(imports, IMPORT_DOUBLINGS);
  return 0;
}

/* ---- what -------------------------------------------------------------------------------------
 */

static char *
host_of(const char *url)
{
  const char *host = strstr(url, "://");
  host = host ? host + 3 : url;
  return xstrndup(host, strcspn(host, "/"));
}

/* A question: of a cron that was changed, or is to look now, it is another one. To be freed. */
static char *
about_of(const struct kube_object *cron)
{
  const char *request = kube_object_annotation(cron, ANNOTATION_POLL);
  return xasprintf("%" PRId64 " %s", cron->generation, request ? request : "");
}

static int
ask(struct populator *populator, const struct kube_object *cron, struct error **err)
{
  struct json_object *source = cron_poll_source(cron);
  CLEANUP(freep) char *key = key_of(cron->ns, cron->name);
  struct json_object *job;
  if (import_source_job(populator, cron->ns, source, "spec.template.spec.source", &job, err) < 0)
    return -1;
  json_put_at(job, json_object_new_int(RETRIES), "retries"); /* it is asked again anyway */
  json_put_at(job, json_object_new_int(STALL_S), "stall");
  CLEANUP(freep) char *host = host_of(import_source_url(source));
  CLEANUP(freep) char *about = about_of(cron);
  lookups_start(populator->lookups, key, about, host, "resolve", job);
  return 0;
}

/* A claim has no versions: another one of its name is a new one. Who may not clone it is not told
 * whether it is there either. */
static void
look_at_claim(struct populator *populator, const struct kube_object *cron,
              const struct source_link *link, struct cron_finding *finding)
{
  CLEANUP(error_freep) struct error *refusal = NULL;
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, link->ns, link->name);
  finding->is_new = true;
  if (clone_permission_check(populator, cron, link, false, &refusal) < 0)
    finding->problem = xstrdup(refusal->message);
  else if (claim && !claim->is_deleting)
    finding->identity = xasprintf("uid:%s", claim->uid);
  else
    finding->problem = xasprintf("there is no PersistentVolumeClaim '%s/%s'", link->ns, link->name);
}

/* Now: claims show here, all else is asked for. */
static int
look(struct populator *populator, const struct kube_object *cron, struct cron_finding *finding,
     struct error **err)
{
  CLEANUP(source_link_clear) struct source_link link = {0};
  if (!source_link_read(cron_poll_source(cron), cron->ns, &link))
    return ask(populator, cron, err);
  look_at_claim(populator, cron, &link, finding);
  return 0;
}

static void
take_answer(const struct lookup_view *view, struct cron_finding *finding)
{
  const char *identity = json_text(view->result, "identity");
  finding->is_new = true;
  finding->identity = xstrdup(identity);
  finding->url = xstrdup(json_text(view->result, "url"));
  if (identity)
    return;
  finding->problem = xstrdup(view->message ? view->message : "the answer makes no sense");
  finding->is_away = view->state == LOOKUP_FAILED &&
                     (view->code == ERROR_UNAVAILABLE || view->code == ERROR_DEADLINE_EXCEEDED);
}

int
cron_poll(struct populator *populator, const struct kube_object *cron,
          struct cron_finding *ret_finding, int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(freep) char *key = key_of(cron->ns, cron->name);
  CLEANUP(lookup_view_clear) struct lookup_view view;
  lookups_take(populator->lookups, key, &view);
  *ret_finding = (struct cron_finding){0};
  *ret_again_ms = WORK_DONE;
  CLEANUP(freep) char *about = about_of(cron);
  if (view.about && strcmp(view.about, about) != 0)
    lookups_forget(populator->lookups, key);
  else if (view.state == LOOKUP_RUNNING)
    return 0; /* it calls */
  else if (view.state != LOOKUP_NONE) {
    take_answer(&view, ret_finding);
    return 0;
  }
  int64_t at_s;
  if (due_s(populator, cron, &at_s, err) < 0)
    return -1;
  if (at_s == INT64_MAX)
    return 0;
  int64_t wait_ms = (at_s - (int64_t)time(NULL)) * 1000;
  if (wait_ms > 0) {
    *ret_again_ms = wait_ms + cron_jitter_s(populator->identity, REPLICAS_MS);
    return 0;
  }
  return look(populator, cron, ret_finding, err);
}
