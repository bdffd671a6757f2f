/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/kube_write.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

#define MERGE_PATCH "application/merge-patch+json"
#define STRATEGIC_PATCH "application/strategic-merge-patch+json"
#define APPLY_PATCH "application/apply-patch+yaml" /* of which JSON is a part */

static int
object_of(struct json_object *answer, struct kube_object **ret_object, struct error **err)
{
  struct kube_object *object = kube_object_new(answer);
  if (!object)
    return error_set(err, ERROR_UNAVAILABLE, "the API server's answer is no object");
  if (ret_object)
    *ret_object = object;
  else
    kube_object_release(object);
  return 0;
}

int
kube_get(struct kube_client *client, const struct kube_kind *kind, const char *ns, const char *name,
         struct kube_object **ret_object, struct error **err)
{
  CLEANUP(freep) char *path = kube_kind_path(kind, ns, name, NULL);
  struct json_object *answer = NULL;
  const struct kube_request request = {.path = path};
  if (kube_client_send(client, &request, &answer, err) < 0)
    return -1;
  return object_of(answer, ret_object, err);
}

static void
set_type(const struct kube_kind *kind, struct json_object *json)
{
  CLEANUP(freep) char *api_version = kube_kind_api_version(kind);
  json_put_text(json, api_version, "apiVersion");
  json_put_text(json, kind->kind, "kind");
}

int
kube_create(struct kube_client *client, const struct kube_kind *kind, struct json_object *json,
            struct kube_object **ret_object, struct error **err)
{
  set_type(kind, json);
  CLEANUP(freep)
  char *path = kube_kind_path(kind, json_text(json, "metadata", "namespace"), NULL, NULL);
  struct json_object *answer = NULL;
  const struct kube_request request = {
      .method = "POST", .path = path, .query = "fieldManager=" KUBE_FIELD_MANAGER, .body = json};
  if (kube_client_send(client, &request, &answer, err) < 0)
    return -1;
  if (!json_text(answer, "metadata", "name")) { /* reviews have none */
    json_object_put(answer);
    return 0;
  }
  return object_of(answer, ret_object, err);
}

int
kube_apply(struct kube_client *client, const struct kube_kind *kind, struct json_object *json,
           struct error **err)
{
  set_type(kind, json);
  CLEANUP(freep)
  char *path = kube_kind_path(kind, json_text(json, "metadata", "namespace"),
                              json_text(json, "metadata", "name"), NULL);
  const struct kube_request request = {.method = "PATCH",
                                       .path = path,
                                       .query = "force=true&fieldManager=" KUBE_FIELD_MANAGER,
                                       .content_type = APPLY_PATCH,
                                       .body = json};
  return kube_client_send(client, &request, NULL, err);
}

/* The uid goes along. */
static int
send_patch(struct kube_client *client, const char *path, const char *content_type,
           const struct kube_object *object, struct json_object *patch, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *body = json_copy(patch);
  json_put_text(body, object->uid, "metadata", "uid");
  const struct kube_request request = {.method = "PATCH",
                                       .path = path,
                                       .query = "fieldManager=" KUBE_FIELD_MANAGER,
                                       .content_type = content_type,
                                       .body = body};
  return kube_client_send(client, &request, NULL, err);
}

int
kube_patch(struct kube_client *client, const struct kube_kind *kind,
           const struct kube_object *object, const char *subresource, struct json_object *patch,
           struct error **err)
{
  if (json_covers(object->json, patch))
    return 0;
  CLEANUP(freep) char *path = kube_kind_path(kind, object->ns, object->name, subresource);
  return send_patch(client, path, MERGE_PATCH, object, patch, err);
}

int
kube_patch_built_in(struct kube_client *client, const struct kube_kind *kind,
                    const struct kube_object *object, struct json_object *patch, struct error **err)
{
  if (json_covers(object->json, patch))
    return 0;
  CLEANUP(freep) char *path = kube_kind_path(kind, object->ns, object->name, NULL);
  return send_patch(client, path, STRATEGIC_PATCH, object, patch, err);
}

int
kube_patch_status(struct kube_client *client, const struct kube_kind *kind,
                  const struct kube_object *object, struct json_object *status, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  json_put_at(patch, status, "status");
  return kube_patch(client, kind, object, "status", patch, err);
}

static int
delete_if(struct kube_client *client, const struct kube_kind *kind,
          const struct kube_object *object, const char *version, struct error **err)
{
  CLEANUP(freep) char *path = kube_kind_path(kind, object->ns, object->name, NULL);
  CLEANUP(json_object_putp) struct json_object *options = json_object_new_object();
  json_put_text(options, object->uid, "preconditions", "uid");
  if (version)
    json_put_text(options, version, "preconditions", "resourceVersion");
  json_put_text(options, "Background", "propagationPolicy");
  const struct kube_request request = {.method = "DELETE", .path = path, .body = options};
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_client_send(client, &request, NULL, &failure) == 0 || failure->code == ERROR_NOT_FOUND)
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}

int
kube_delete(struct kube_client *client, const struct kube_kind *kind,
            const struct kube_object *object, struct error **err)
{
  return delete_if(client, kind, object, NULL, err);
}

int
kube_delete_unchanged(struct kube_client *client, const struct kube_kind *kind,
                      const struct kube_object *object, struct error **err)
{
  return delete_if(client, kind, object, object->version, err);
}

/* ---- finalizers -------------------------------------------------------------------------------
 */

/* The server merges the finalizers of its own kinds: nobody's change in between is in the way. */
static bool
is_built_in(const struct kube_kind *kind)
{
  return !*kind->group;
}

static struct json_object *
list_of(const char *text)
{
  struct json_object *list = json_object_new_array();
  json_object_array_add(list, json_object_new_string(text));
  return list;
}

static int
change_built_in(struct kube_client *client, const struct kube_kind *kind,
                const struct kube_object *object, const char *directive, const char *finalizer,
                struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  json_put_at(patch, list_of(finalizer), "metadata", directive);
  return kube_patch_built_in(client, kind, object, patch, err);
}

static struct json_object *
finalizers_without(const struct kube_object *object, const char *finalizer)
{
  struct json_object *present = json_at(object->json, "metadata", "finalizers");
  struct json_object *list = json_object_new_array();
  for (size_t i = 0; i < json_count(present); i++) {
    const char *item = json_object_get_string(json_item(present, i));
    if (item && strcmp(item, finalizer) != 0)
      json_object_array_add(list, json_object_new_string(item));
  }
  return list;
}

static int
set_finalizers(struct kube_client *client, const struct kube_kind *kind,
               const struct kube_object *object, struct json_object *list, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  json_put_at(patch, list, "metadata", "finalizers");
  json_put_text(patch, object->version, "metadata", "resourceVersion");
  return kube_patch(client, kind, object, NULL, patch, err);
}

int
kube_add_finalizer(struct kube_client *client, const struct kube_kind *kind,
                   const struct kube_object *object, const char *finalizer, struct error **err)
{
  if (kube_object_has_finalizer(object, finalizer))
    return 0;
  if (is_built_in(kind))
    return change_built_in(client, kind, object, "finalizers", finalizer, err);
  struct json_object *list = finalizers_without(object, finalizer);
  json_object_array_add(list, json_object_new_string(finalizer));
  return set_finalizers(client, kind, object, list, err);
}

int
kube_remove_finalizer(struct kube_client *client, const struct kube_kind *kind,
                      const struct kube_object *object, const char *finalizer, struct error **err)
{
  if (!kube_object_has_finalizer(object, finalizer))
    return 0;
  CLEANUP(error_freep) struct error *failure = NULL;
  int r =
      is_built_in(kind)
          ? change_built_in(client, kind, object, "$deleteFromPrimitiveList/finalizers", finalizer,
                            &failure)
          : set_finalizers(client, kind, object, finalizers_without(object, finalizer), &failure);
  if (r == 0 || failure->code == ERROR_NOT_FOUND)
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}
