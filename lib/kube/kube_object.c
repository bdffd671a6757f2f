/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/kube_object.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

static const char *
or_empty(const char *text)
{
  return text ? text : "";
}

struct kube_object *
kube_object_new(struct json_object *json)
{
  struct json_object *metadata = json_at(json, "metadata");
  if (!json_text(metadata, "name")) {
    json_object_put(json);
    return NULL;
  }
  json_object_object_del(metadata, "managedFields");
  struct kube_object *object = xcalloc(1, sizeof(*object));
  atomic_store(&object->references, 1);
  object->json = json;
  object->ns = or_empty(json_text(metadata, "namespace"));
  object->name = json_text(metadata, "name");
  object->uid = or_empty(json_text(metadata, "uid"));
  object->version = or_empty(json_text(metadata, "resourceVersion"));
  object->generation = json_number(metadata, "generation");
  object->is_deleting = json_text(metadata, "deletionTimestamp") != NULL;
  return object;
}

struct kube_object *
kube_object_hold(struct kube_object *object)
{
  if (object)
    atomic_fetch_add(&object->references, 1);
  return object;
}

void
kube_object_release(struct kube_object *object)
{
  if (!object || atomic_fetch_sub(&object->references, 1) > 1)
    return;
  json_object_put(object->json);
  free(object);
}

bool
kube_object_stays(const struct kube_object *now, const struct kube_object *known)
{
  return !now->is_deleting && strcmp(now->uid, known->uid) == 0;
}

const char *
kube_object_label(const struct kube_object *object, const char *name)
{
  return json_text(object->json, "metadata", "labels", name);
}

const char *
kube_object_annotation(const struct kube_object *object, const char *name)
{
  return json_text(object->json, "metadata", "annotations", name);
}

bool
kube_object_has_finalizer(const struct kube_object *object, const char *finalizer)
{
  struct json_object *list = json_at(object->json, "metadata", "finalizers");
  for (size_t i = 0; i < json_count(list); i++) {
    struct json_object *item = json_item(list, i);
    if (json_object_is_type(item, json_type_string) &&
        strcmp(json_object_get_string(item), finalizer) == 0)
      return true;
  }
  return false;
}

const char *
kube_object_controller(const struct kube_object *object)
{
  struct json_object *owners = json_at(object->json, "metadata", "ownerReferences");
  for (size_t i = 0; i < json_count(owners); i++) {
    if (json_flag(json_item(owners, i), "controller"))
      return json_text(json_item(owners, i), "uid");
  }
  return NULL;
}

struct json_object *
kube_object_owner_references(const struct kube_object *owner, const struct kube_kind *kind)
{
  CLEANUP(freep) char *api_version = kube_kind_api_version(kind);
  struct json_object *reference = json_object_new_object();
  json_put_text(reference, api_version, "apiVersion");
  json_put_text(reference, kind->kind, "kind");
  json_put_text(reference, owner->name, "name");
  json_put_text(reference, owner->uid, "uid");
  json_put_at(reference, json_object_new_boolean(true), "controller");
  json_put_at(reference, json_object_new_boolean(true), "blockOwnerDeletion");
  struct json_object *list = json_object_new_array();
  json_object_array_add(list, reference);
  return list;
}
