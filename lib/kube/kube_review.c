/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/kube_review.h"

#include "lib/base/memory.h"
#include "lib/kube/json.h"

/* The answer to a review; a review is never kept by the server. */
static int
ask(struct kube_client *client, const struct kube_kind *kind, struct json_object *spec,
    struct json_object **ret_answer, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *review = json_object_new_object();
  CLEANUP(freep) char *version = kube_kind_api_version(kind);
  CLEANUP(freep) char *path = kube_kind_path(kind, NULL, NULL, NULL);
  json_put_text(review, version, "apiVersion");
  json_put_text(review, kind->kind, "kind");
  json_put_at(review, spec, "spec");
  const struct kube_request request = {.method = "POST", .path = path, .body = review};
  return kube_client_send(client, &request, ret_answer, err);
}

static int
find_user(struct kube_client *client, const char *token, struct json_object **ret_user,
          struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *answer = NULL;
  struct json_object *spec = json_object_new_object();
  json_put_text(spec, token, "token");
  if (ask(client, &kube_token_reviews, spec, &answer, err) < 0)
    return -1;
  struct json_object *user = json_at(answer, "status", "user");
  if (!json_flag(answer, "status", "authenticated") || !json_text(user, "username"))
    return error_set(err, ERROR_UNAUTHENTICATED,
                     "the API server does not accept this token: it is wrong or has expired");
  *ret_user = json_copy(user);
  return 0;
}

static void
copy_member(struct json_object *from, const char *from_name, struct json_object *to,
            const char *to_name)
{
  struct json_object *value = json_at(from, from_name);
  if (value)
    json_put_at(to, json_copy(value), to_name);
}

static int
check_access(struct kube_client *client, struct json_object *user, const struct kube_access *access,
             struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *answer = NULL;
  struct json_object *spec = json_object_new_object();
  copy_member(user, "username", spec, "user");
  copy_member(user, "uid", spec, "uid");
  copy_member(user, "groups", spec, "groups");
  copy_member(user, "extra", spec, "extra");
  json_put_text(spec, access->verb, "resourceAttributes", "verb");
  json_put_text(spec, access->kind->group, "resourceAttributes", "group");
  json_put_text(spec, access->kind->plural, "resourceAttributes", "resource");
  if (access->subresource)
    json_put_text(spec, access->subresource, "resourceAttributes", "subresource");
  json_put_text(spec, access->ns, "resourceAttributes", "namespace");
  json_put_text(spec, access->name, "resourceAttributes", "name");
  if (ask(client, &kube_subject_access_reviews, spec, &answer, err) < 0)
    return -1;
  if (json_flag(answer, "status", "allowed"))
    return 0;
  return error_set(err, ERROR_PERMISSION_DENIED, "%s may not %s %s%s%s in namespace %s",
                   json_text(user, "username"), access->verb, access->kind->plural,
                   access->subresource ? "/" : "", access->subresource ? access->subresource : "",
                   access->ns);
}

int
kube_review(struct kube_client *client, const char *token, const struct kube_access *access,
            struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *user = NULL;
  return find_user(client, token, &user, err) < 0 ? -1 : check_access(client, user, access, err);
}
