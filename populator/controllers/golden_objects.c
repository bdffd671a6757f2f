/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/golden_objects.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/cron_imports.h"

/* Its value is the name of the ConfigMap, and of the ClusterRole, which is the cluster's only one.
 */
#define LABEL_GOLDEN "imprint." KINDS_GROUP "/golden-images"
/* On a DataImportCron: what was asked for last. */
#define ANNOTATION_ASKED "imprint." KINDS_GROUP "/golden-image-asked"

/* ---- whose it is ------------------------------------------------------------------------------
 */

static bool
is_same_text(const char *one, const char *two)
{
  return one && two && strcmp(one, two) == 0;
}

bool
golden_object_is_ours(const struct populator *populator, const struct kube_object *object)
{
  return is_same_text(kube_object_label(object, LABEL_GOLDEN), populator->golden_images);
}

/* Made by Helm itself, as charts before this one did it; by its labels, which are there whatever
 * tool applied the chart. Or given up by us, and asked for again. */
static bool
is_of_release(const struct golden_place *place, const struct kube_object *object)
{
  static const char *const labels[] = {"app.kubernetes.io/name", "app.kubernetes.io/instance"};
  for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
    if (!is_same_text(kube_object_label(object, labels[i]),
                      kube_object_label(place->config_map, labels[i])))
      return false;
  }
  return true;
}

/* ---- its owners -------------------------------------------------------------------------------
 */

static struct json_object *
owners_of(const struct kube_object *object)
{
  return json_at(object->json, "metadata", "ownerReferences");
}

static bool
has_owner(const struct golden_place *place, const struct kube_object *object)
{
  struct json_object *present = owners_of(object);
  for (size_t i = 0; i < json_count(present); i++) {
    if (is_same_text(json_text(json_item(present, i), "uid"), place->owner->uid))
      return true;
  }
  return false;
}

/* Those of others; not even a ClusterRole that was ours and was made anew. */
static struct json_object *
other_owners(const struct golden_place *place, const struct kube_object *object)
{
  struct json_object *present = owners_of(object);
  struct json_object *list = json_object_new_array();
  for (size_t i = 0; i < json_count(present); i++) {
    struct json_object *item = json_item(present, i);
    if (!is_same_text(json_text(item, "kind"), kube_cluster_roles.kind) ||
        !is_same_text(json_text(item, "name"), place->owner->name))
      json_object_array_add(list, json_copy(item));
  }
  return list;
}

/* Ours behind the others. Whoever made it controls it, and there can be one only. */
static struct json_object *
owners_with_ours(const struct golden_place *place, struct json_object *others)
{
  CLEANUP(json_object_putp)
  struct json_object *made = kube_object_owner_references(place->owner, &kube_cluster_roles);
  struct json_object *own = json_copy(json_item(made, 0));
  bool is_controlled = false;
  for (size_t i = 0; i < json_count(others); i++)
    is_controlled = is_controlled || json_flag(json_item(others, i), "controller");
  json_put_at(own, json_object_new_boolean(!is_controlled), "controller");
  json_put_at(own, json_object_new_boolean(false), "blockOwnerDeletion");
  json_object_array_add(others, own);
  return others;
}

/* Read-modify-write: ABORTED when somebody else changed it meanwhile. */
static void
put_owners(struct json_object *patch, const struct kube_object *object, struct json_object *owners)
{
  json_put_at(patch, owners, "metadata", "ownerReferences");
  json_put_text(patch, object->version, "metadata", "resourceVersion");
}

static void
own(const struct golden_place *place, const struct kube_object *object, struct json_object *patch)
{
  json_put_text(patch, place->populator->golden_images, "metadata", "labels", LABEL_GOLDEN);
  if (!has_owner(place, object))
    put_owners(patch, object, owners_with_ours(place, other_owners(place, object)));
}

/* One that is gone by now was removed by somebody, another populator for example: what is to be
 * done then is seen at the next look, as with one that was changed. */
static int
patch_present(const struct golden_place *place, const struct kube_kind *kind,
              const struct kube_object *object, struct json_object *patch, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_patch(place->populator->client, kind, object, NULL, patch, &failure) == 0)
    return 0;
  enum error_code code = failure->code == ERROR_NOT_FOUND ? ERROR_ABORTED : failure->code;
  return error_set(err, code, "%s '%s/%s': %s", kind->kind, object->ns, object->name,
                   failure->message);
}

/* ---- what is asked for ------------------------------------------------------------------------
 */

static struct json_object *
copy_or_empty(struct json_object *value)
{
  return value ? json_copy(value) : json_object_new_object();
}

/* Labels and annotations are always there: without them, those of others would be taken away. */
static struct json_object *
asked_of(const struct golden_wish *wish)
{
  struct json_object *metadata = json_at(wish->object, "metadata");
  struct json_object *asked = json_object_new_object();
  json_put_at(asked, copy_or_empty(json_at(metadata, "labels")), "metadata", "labels");
  json_put_at(asked, copy_or_empty(json_at(metadata, "annotations")), "metadata", "annotations");
  json_put_at(asked, json_copy(json_at(wish->object, "spec")), "spec");
  return asked;
}

/* Of one that Helm made, all that stands in its spec. */
static struct json_object *
asked_before(const struct kube_object *cron)
{
  const char *text = kube_object_annotation(cron, ANNOTATION_ASKED);
  struct json_object *before = NULL;
  if (text && json_parse(text, strlen(text), &before, NULL) == 0)
    return before;
  before = json_object_new_object();
  json_put_at(before, copy_or_empty(json_at(cron->json, "spec")), "spec");
  return before;
}

static void
note_asked(struct json_object *json, struct json_object *asked)
{
  json_put_text(json, json_object_to_json_string_ext(asked, JSON_C_TO_STRING_PLAIN), "metadata",
                "annotations", ANNOTATION_ASKED);
}

/* ---- making and changing ----------------------------------------------------------------------
 */

static int
make(struct golden_place *place, const struct golden_wish *wish, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *asked = asked_of(wish);
  CLEANUP(json_object_putp) struct json_object *json = json_copy(asked);
  CLEANUP(error_freep) struct error *failure = NULL;
  json_put_text(json, wish->ns, "metadata", "namespace");
  json_put_text(json, wish->name, "metadata", "name");
  json_put_text(json, place->populator->golden_images, "metadata", "labels", LABEL_GOLDEN);
  json_put_at(json, owners_with_ours(place, json_object_new_array()), "metadata",
              "ownerReferences");
  if (wish->kind == &data_import_crons)
    note_asked(json, asked);
  if (kube_create(place->populator->client, wish->kind, json, NULL, &failure) == 0) {
    kube_event_tell(place->populator->events, &kube_config_maps, place->config_map,
                    KUBE_EVENT_NORMAL, "Made", "%s '%s/%s' of %s", wish->kind->kind, wish->ns,
                    wish->name, wish->from);
    return 0;
  }
  /* another populator was faster, or it is somebody else's: it will be seen */
  enum error_code code = failure->code == ERROR_ALREADY_EXISTS ? ERROR_ABORTED : failure->code;
  return error_set(err, code, "%s '%s/%s': %s", wish->kind->kind, wish->ns, wish->name,
                   failure->message);
}

static int
change_cron(const struct golden_place *place, const struct golden_wish *wish,
            const struct kube_object *cron, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *asked = asked_of(wish);
  CLEANUP(json_object_putp) struct json_object *before = asked_before(cron);
  CLEANUP(json_object_putp) struct json_object *patch = json_patch_between(before, asked);
  note_asked(patch, asked);
  own(place, cron, patch);
  return patch_present(place, wish->kind, cron, patch, err);
}

static int
see_to_cron(const struct golden_place *place, const struct golden_wish *wish,
            const struct kube_object *cron, struct error **err)
{
  if (!golden_object_is_ours(place->populator, cron) && !is_of_release(place, cron))
    return error_set(
        err, ERROR_FAILED_PRECONDITION,
        "there is a DataImportCron '%s/%s' already that somebody else made: delete it, "
        "or give the template another name",
        wish->ns, wish->name);
  return change_cron(place, wish, cron, err);
}

/* One that somebody else made is as good. */
static int
see_to_source(const struct golden_place *place, const struct kube_object *source,
              struct error **err)
{
  if (!golden_object_is_ours(place->populator, source) && !is_of_release(place, source))
    return 0;
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  own(place, source, patch);
  return patch_present(place, &data_sources, source, patch, err);
}

int
golden_object_see_to(struct golden_place *place, const struct golden_wish *wish, struct error **err)
{
  struct populator *populator = place->populator;
  bool is_cron = wish->kind == &data_import_crons;
  CLEANUP(kube_object_releasep)
  struct kube_object *present = kube_mirror_get(
      is_cron ? populator->data_import_crons : populator->data_sources, wish->ns, wish->name);
  if (!present)
    return make(place, wish, err);
  if (present->is_deleting) {
    place->comes_again = true;
    return 0;
  }
  return is_cron ? see_to_cron(place, wish, present, err) : see_to_source(place, present, err);
}

/* ---- taking back ------------------------------------------------------------------------------
 */

/* Leads where it led when it was made, and nobody else has a share in it. */
static bool
is_untouched(const struct golden_place *place, const struct kube_object *source)
{
  struct json_object *claim = json_at(source->json, "spec", "source", "pvc");
  CLEANUP(json_object_putp) struct json_object *others = other_owners(place, source);
  return is_same_text(json_text(claim, "name"), source->name) &&
         is_same_text(json_text(claim, "namespace"), source->ns) &&
         !kube_object_label(source, LABEL_CRON) && json_count(others) == 0;
}

static int
give_up(const struct golden_place *place, const struct kube_object *source, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  put_owners(patch, source, other_owners(place, source));
  json_put_at(patch, NULL, "metadata", "labels", LABEL_GOLDEN);
  return patch_present(place, &data_sources, source, patch, err);
}

int
golden_object_take_back(struct golden_place *place, const struct kube_kind *kind,
                        const struct kube_object *object, struct error **err)
{
  if (object->is_deleting)
    return 0;
  if (kind == &data_sources && !is_untouched(place, object))
    return give_up(place, object, err);
  if (kube_delete(place->populator->client, kind, object, err) < 0)
    return -1;
  kube_event_tell(place->populator->events, &kube_config_maps, place->config_map, KUBE_EVENT_NORMAL,
                  "Removed", "%s '%s/%s': the values do not ask for it any more", kind->kind,
                  object->ns, object->name);
  return 0;
}
