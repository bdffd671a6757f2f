/* SPDX-License-Identifier: Apache-2.0 */
/* A step is told by generation, verb and failures so far: an answer to another step is none, so one
 * that comes late does no harm. */
#include "populator/controllers/host_image.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/controllers/image_source.h"
#include "populator/objects/condition.h"
#include "populator/objects/conditions.h"

#define FIELD "spec.source.hostPath"

static const struct kube_kind *const kind = &virtual_machine_images;

static const char *const state_names[] = {
    [TRANSFER_WAITING] = "Waiting", [TRANSFER_ELSEWHERE] = "Waiting",
    [TRANSFER_RUNNING] = "Running", [TRANSFER_DONE] = "Done",
    [TRANSFER_FAILED] = "Failed",
};

bool
host_image_is_source(const struct kube_object *image)
{
  return json_at(image->json, "spec", "source", "hostPath") != NULL;
}

static const char *
node_of(const struct kube_object *image)
{
  const char *node = json_text(image->json, "spec", "source", "hostPath", "nodeName");
  return node ? node : "";
}

static bool
is_inspected(const struct kube_object *image)
{
  return json_number(image->json, "status", "virtualSize") != 0;
}

/* To be freed. */
static char *
step_of(const struct kube_object *image, const char *verb)
{
  return xasprintf("%" PRId64 "/%s/%" PRId64, image->generation, verb,
                   json_number(image->json, "status", "attempts"));
}

static bool
is_answered(const struct kube_object *image, const char *step)
{
  const char *answered = json_text(image->json, "status", "hostTransfer", "step");
  return answered && strcmp(answered, step) == 0;
}

/* ---- beside the controller plugin -------------------------------------------------------------
 */

static int
check_path(const struct populator *populator, const struct kube_object *image, struct error **err)
{
  const char *path = json_text(image->json, "spec", "source", "hostPath", "path");
  size_t len = populator->host_images ? strlen(populator->host_images) : 0;
  if (!populator->host_images)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     FIELD ": files on nodes are not read in this installation: set "
                           "hostPathImages.enabled in the chart's values, or upload the file");
  while (len > 1 && populator->host_images[len - 1] == '/')
    len--;
  if (path && strncmp(path, populator->host_images, len) == 0 &&
      (path[len] == '/' || path[len] == '\0'))
    return 0;
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   FIELD ".path: '%.256s' is not below '%s', the one folder of a node that images "
                         "are read from: put the file there",
                   path ? path : "", populator->host_images);
}

/* What keeps the node from going on, to be freed; NULL when nothing is known. */
static int
check_node(struct populator *populator, const char *name, char **ret_trouble, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *node = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_get(populator->client, &kube_nodes, NULL, name, &node, &failure) < 0) {
    if (failure->code == ERROR_NOT_FOUND)
      return error_set(err, ERROR_INVALID_ARGUMENT, FIELD ".nodeName: there is no node '%.253s'",
                       name);
    return error_set(err, failure->code, "%s", failure->message);
  }
  if (!conditions_is_true(node, "Ready"))
    *ret_trouble = xasprintf("node '%s' is not ready: it goes on when the node is back", name);
  return 0;
}

static enum transfer_state
state_of(const char *name)
{
  for (size_t i = TRANSFER_WAITING; i <= TRANSFER_FAILED; i++) {
    if (name && strcmp(state_names[i], name) == 0)
      return (enum transfer_state)i;
  }
  return TRANSFER_NONE;
}

static void
read_answer(const struct kube_object *image, struct transfer_view *view)
{
  struct json_object *answer = json_at(image->json, "status", "hostTransfer");
  struct json_object *percent = json_at(answer, "percent");
  const char *trouble = json_text(answer, "trouble");
  view->state = state_of(json_text(answer, "state"));
  view->code = (enum error_code)json_number(answer, "code");
  view->message = xstrdup(json_text(answer, "message"));
  view->result = json_copy(json_at(answer, "result"));
  view->percent = percent ? json_object_get_double(percent) : -1;
  if (trouble && !view->trouble)
    view->trouble = xstrdup(trouble);
}

int
host_image_look(struct populator *populator, const struct kube_object *image,
                struct transfer_view *ret_view, struct error **err)
{
  const char *verb = is_inspected(image) ? "import" : "inspect";
  CLEANUP(freep) char *step = step_of(image, verb);
  struct transfer_view view = {.verb = verb, .percent = -1};
  if (check_path(populator, image, err) < 0 ||
      check_node(populator, node_of(image), &view.trouble, err) < 0)
    return -1;
  if (is_answered(image, step))
    read_answer(image, &view);
  if (view.state == TRANSFER_NONE) {
    view.state = TRANSFER_WAITING;
    if (!view.trouble)
      view.trouble =
          xasprintf("waits for node '%s': does a pod of DaemonSet imprint-host-images run there?",
                    node_of(image));
  }
  *ret_view = view;
  return 0;
}

/* ---- on the node ------------------------------------------------------------------------------
 */

/* What is to be done here; NULL: nothing. */
static const char *
verb_wanted(const struct populator *populator, const struct kube_object *image)
{
  bool is_seen = json_number(image->json, "status", "observedGeneration") == image->generation;
  if (!host_image_is_source(image) || strcmp(node_of(image), populator->node) != 0 ||
      image->is_deleting || !is_seen || strcmp(condition_state(image), "Creating") != 0)
    return NULL;
  if (!is_inspected(image))
    return "inspect";
  return json_text(image->json, "status", "volumeHandle") ? "import" : NULL;
}

/* To a tenth, or more would be written than anybody sees. NULL: that is not known. */
static struct json_object *
percent_of(const struct transfer_view *view)
{
  if (view->percent < 0)
    return NULL;
  CLEANUP(freep) char *text = xasprintf("%.1f", view->percent);
  return json_object_new_double_s(strtod(text, NULL), text);
}

/* All members: those that do not apply go. */
static int
answer(struct populator *populator, const struct kube_object *image, const char *step,
       const struct transfer_view *view, struct error **err)
{
  struct json_object *all = json_object_new_object();
  bool is_done = view->state == TRANSFER_DONE;
  bool is_failed = view->state == TRANSFER_FAILED;
  json_put_text(all, populator->node, "node");
  json_put_text(all, step, "step");
  json_put_text(all, state_names[view->state], "state");
  json_put_at(all, percent_of(view), "percent");
  json_put_at(all, is_failed ? json_object_new_int((int)view->code) : NULL, "code");
  json_put_at(all, is_failed ? json_object_new_string(view->message) : NULL, "message");
  json_put_at(all, view->trouble ? json_object_new_string(view->trouble) : NULL, "trouble");
  struct json_object *result = NULL;
  static const char *const kept[] = {"virtualSize", "format", "digest", "refusal"};
  for (size_t i = 0; is_done && i < sizeof(kept) / sizeof(kept[0]); i++) {
    struct json_object *value = json_at(view->result, kept[i]);
    if (!result)
      result = json_object_new_object();
    if (value)
      json_object_object_add(result, kept[i], json_object_get(value));
  }
  json_put_at(all, result, "result");
  struct json_object *status = json_object_new_object();
  json_put_at(status, all, "hostTransfer");
  return kube_patch_status(populator->client, kind, image, status, err);
}

static int
start(struct populator *populator, const struct kube_object *image, const char *key,
      const char *verb, const char *step, struct error **err)
{
  struct json_object *job;
  CLEANUP(freep) char *lease = xasprintf("image-%s", image->uid);
  const struct transfer_order order = {key, lease, verb, step};
  int r = strcmp(verb, "import") == 0 ? image_source_import_job(populator, image, &job, err)
                                      : image_source_job(populator, image, &job, err);
  if (r < 0)
    return -1;
  json_put_at(job, json_object_new_boolean(true), "json");
  transfers_start(populator->transfers, &order, job);
  return 0;
}

/* Another step than the one before: what is left of that ends first. */
static int
begin_step(struct populator *populator, const struct kube_object *image, const char *key,
           const char *step, bool is_busy, int64_t *ret_again_ms, struct error **err)
{
  const struct transfer_view waiting = {.state = TRANSFER_WAITING, .percent = -1};
  int64_t attempts = json_number(image->json, "status", "attempts");
  if (!is_busy)
    return answer(populator, image, step, &waiting, err);
  transfers_forget(populator->transfers, key);
  *ret_again_ms = attempts > 0 ? 1000LL << (attempts < 6 ? attempts : 6) : 1;
  return 0;
}

static int
take_step(struct populator *populator, const struct kube_object *image, const char *verb,
          int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(freep) char *key = populator_key(&image_controller, image->ns, image->name);
  CLEANUP(freep) char *step = step_of(image, verb);
  struct transfer_view view;
  bool is_begun = is_answered(image, step);
  transfers_look(populator->transfers, key, is_begun ? step : NULL, &view);
  enum transfer_state answered =
      state_of(json_text(image->json, "status", "hostTransfer", "state"));
  int r = 0;
  if (!is_begun)
    r = begin_step(populator, image, key, step, view.state != TRANSFER_NONE, ret_again_ms, err);
  else if (view.state == TRANSFER_ELSEWHERE)
    r = 0; /* another pod of this node tells of it */
  else if (view.state != TRANSFER_NONE)
    r = answer(populator, image, step, &view, err);
  else if (answered != TRANSFER_DONE && answered != TRANSFER_FAILED)
    r = start(populator, image, key, verb, step, err);
  transfer_view_clear(&view);
  return r;
}

int
host_image_reconcile(struct populator *populator, const struct kube_object *image,
                     int64_t *ret_again_ms, struct error **err)
{
  const char *verb = verb_wanted(populator, image);
  if (verb)
    return take_step(populator, image, verb, ret_again_ms, err);
  CLEANUP(freep) char *key = populator_key(&image_controller, image->ns, image->name);
  transfers_forget(populator->transfers, key);
  return 0;
}
