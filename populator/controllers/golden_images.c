/* SPDX-License-Identifier: Apache-2.0 */
/* Golden images of the chart's values: one ConfigMap of our own namespace tells what is asked for
 * (golden_wish.h), and this makes it, keeps it so and takes it back (golden_objects.h).
 *
 * Several populators do that side by side, without a leader: each reads the ConfigMap from the
 * server first, so that none acts on what was asked for before, and what one has made the others
 * find. What cannot be made is told at the ConfigMap and in the log, and tried again; the others
 * are made meanwhile. */
#include "populator/controllers/golden_images.h"

#include <string.h>

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "populator/controllers/golden_objects.h"

static const struct kube_kind *const kind = &kube_config_maps;

/* Whatever was in the way may have been mended. */
#define REFUSED_MS 15000
#define COMES_AGAIN_MS 1000

/* ---- the minute -------------------------------------------------------------------------------
 */

/* As told, or one that follows from the cluster's identity: whoever asks, however often the chart
 * is rendered or installed, it is the same one, and nothing has to be kept. */
static int
choose_minute(struct populator *populator, const struct kube_object *config_map, int *ret_minute,
              struct error **err)
{
  int minute = golden_wish_minute(config_map);
  if (minute == GOLDEN_WISH_NO_MINUTE)
    minute = atomic_load(&populator->golden_minute);
  if (minute == GOLDEN_WISH_NO_MINUTE) {
    CLEANUP(kube_object_releasep) struct kube_object *ns = NULL;
    if (kube_get(populator->client, &kube_namespaces, "", "kube-system", &ns, err) < 0)
      return error_wrap(err, "the minute of golden images");
    minute = golden_wish_minute_of(ns->uid);
    atomic_store(&populator->golden_minute, minute);
  }
  *ret_minute = minute;
  return 0;
}

/* ---- what cannot be made ----------------------------------------------------------------------
 */

static void
tell_refusal(const struct golden_place *place, const char *from, const struct error *failure)
{
  CLEANUP(freep) char *text = xasprintf("%s: %s", from, failure->message);
  kube_event_tell(place->populator->events, kind, place->config_map, KUBE_EVENT_WARNING,
                  "GoldenImageRefused", "%s", text);
  if (recent_add(place->populator->golden_told, text))
    log_warn("golden images: %s", text);
}

/* True when it is to be told. What somebody else changed in the same moment is looked at again. */
static bool
is_refusal(struct golden_place *place, const struct error *failure)
{
  bool is_passing = failure->code == ERROR_ABORTED || failure->code == ERROR_CANCELLED;
  place->comes_again = place->comes_again || is_passing;
  return !is_passing;
}

/* ---- all of them ------------------------------------------------------------------------------
 */

static int
see_to_one(struct golden_place *place, const struct golden_wishes *wishes,
           const struct golden_wish *wish, struct error **err)
{
  if (golden_wishes_find(wishes, wish->kind, wish->ns, wish->name) == wish)
    return golden_object_see_to(place, wish, err);
  if (wish->kind == &data_sources) /* two images may have one, and it is the same for both */
    return 0;
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "another template has the name '%s' in namespace '%s' too", wish->name,
                   wish->ns);
}

static unsigned
see_to_all(struct golden_place *place, const struct golden_wishes *wishes)
{
  unsigned refused = 0;
  for (size_t i = 0; i < wishes->count; i++) {
    CLEANUP(error_freep) struct error *failure = NULL;
    if (see_to_one(place, wishes, &wishes->items[i], &failure) == 0 || !is_refusal(place, failure))
      continue;
    tell_refusal(place, wishes->items[i].from, failure);
    refused++;
  }
  return refused;
}

static unsigned
take_back_of(struct golden_place *place, const struct golden_wishes *wishes,
             struct kube_mirror *mirror)
{
  const struct kube_kind *of = kube_mirror_kind(mirror);
  CLEANUP(kube_objects_freep) struct kube_object **all = kube_mirror_all(mirror, NULL);
  unsigned refused = 0;
  for (size_t i = 0; all[i]; i++) {
    CLEANUP(error_freep) struct error *failure = NULL;
    if (!golden_object_is_ours(place->populator, all[i]) ||
        golden_wishes_find(wishes, of, all[i]->ns, all[i]->name) ||
        golden_object_take_back(place, of, all[i], &failure) == 0 || !is_refusal(place, failure))
      continue;
    tell_refusal(place, "what the values do not ask for any more", failure);
    refused++;
  }
  return refused;
}

static int
act(struct golden_place *place, struct golden_wishes *wishes, int64_t *ret_again_ms,
    struct error **err)
{
  struct populator *populator = place->populator;
  int minute = 0;
  if (golden_wishes_need_minute(wishes) &&
      choose_minute(populator, place->config_map, &minute, err) < 0)
    return -1;
  golden_wishes_set_minute(wishes, minute);
  unsigned refused = see_to_all(place, wishes);
  /* crons first: a DataSource is left to a cron that has it */
  refused += take_back_of(place, wishes, populator->data_import_crons);
  refused += take_back_of(place, wishes, populator->data_sources);
  atomic_store(&populator->golden_refused, refused);
  if (place->comes_again)
    *ret_again_ms = COMES_AGAIN_MS;
  else if (refused)
    *ret_again_ms = REFUSED_MS;
  return 0;
}

/* Without its owner nothing is made: Helm is removing the release, or it is not complete yet. */
static int
find_owner(struct populator *populator, struct kube_object **ret_owner, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_get(populator->client, &kube_cluster_roles, "", populator->golden_images, ret_owner,
               &failure) == 0)
    return 0;
  return error_set(err, failure->code, "what golden images belong to: %s", failure->message);
}

static int
reconcile(struct populator *populator, const struct kube_object *known, int64_t *ret_again_ms,
          struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *config_map = NULL;
  CLEANUP(kube_object_releasep) struct kube_object *owner = NULL;
  CLEANUP(golden_wishes_clear) struct golden_wishes wishes = {0};
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_get(populator->client, kind, known->ns, known->name, &config_map, err) < 0)
    return -1;
  struct golden_place place = {.populator = populator, .config_map = config_map};
  if (golden_wishes_read(config_map, &wishes, &failure) < 0) {
    tell_refusal(&place, config_map->name, failure);
    atomic_store(&populator->golden_refused, 1);
    return 0; /* until it is changed */
  }
  if (!wishes.is_told || config_map->is_deleting)
    return 0;
  if (find_owner(populator, &owner, err) < 0)
    return -1;
  place.owner = owner;
  return owner->is_deleting ? 0 : act(&place, &wishes, ret_again_ms, err);
}

const struct controller golden_images_controller = {
    .name = "golden-images", .kind = &kube_config_maps, .reconcile = reconcile};

/* ---- who calls it -----------------------------------------------------------------------------
 */

static void
wake(struct populator *populator)
{
  populator_wake(populator, &golden_images_controller, kube_client_namespace(populator->client),
                 populator->golden_images);
}

void
golden_images_changed(void *context, const struct kube_object *before,
                      const struct kube_object *after)
{
  (void)before; /* what is gone says nothing: Kubernetes removes what belonged to the release */
  if (after)
    wake(context);
}

/* A status says nothing about what was asked for. */
static bool
is_same(const struct kube_object *before, const struct kube_object *after)
{
  static const char *const members[] = {"labels", "annotations", "ownerReferences"};
  if (before->generation != after->generation || before->is_deleting != after->is_deleting ||
      strcmp(before->uid, after->uid) != 0)
    return false;
  for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
    if (!json_object_equal(json_at(before->json, "metadata", members[i]),
                           json_at(after->json, "metadata", members[i])))
      return false;
  }
  return true;
}

void
golden_images_object_changed(struct populator *populator, const struct kube_object *before,
                             const struct kube_object *after)
{
  if (!populator->golden_images)
    return;
  bool is_gone = !after; /* ours, or one that was in the way */
  bool is_ours = (before && golden_object_is_ours(populator, before)) ||
                 (after && golden_object_is_ours(populator, after));
  if (is_gone || (is_ours && !(before && is_same(before, after))))
    wake(populator);
}
