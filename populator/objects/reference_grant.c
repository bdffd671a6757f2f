/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/reference_grant.h"

#include <string.h>

static bool
is_text(struct json_object *object, const char *member, const char *wanted)
{
  const char *text = json_text(object, member);
  return strcmp(text ? text : "", wanted) == 0;
}

static bool
names_user(struct json_object *from, const struct reference *reference)
{
  for (size_t i = 0; i < json_count(from); i++) {
    struct json_object *entry = json_item(from, i);
    if (is_text(entry, "group", reference->from_kind->group) &&
        is_text(entry, "kind", reference->from_kind->kind) &&
        is_text(entry, "namespace", reference->from_ns))
      return true;
  }
  return false;
}

/* Without a name all of the kind are meant. */
static bool
names_object(struct json_object *to, const struct reference *reference)
{
  for (size_t i = 0; i < json_count(to); i++) {
    struct json_object *entry = json_item(to, i);
    const char *name = json_text(entry, "name");
    if (is_text(entry, "group", reference->to_kind->group) &&
        is_text(entry, "kind", reference->to_kind->kind) &&
        (!name || !*name || strcmp(name, reference->to_name) == 0))
      return true;
  }
  return false;
}

int
reference_grant_check(struct kube_mirror *grants, const struct reference *reference,
                      struct error **err)
{
  if (strcmp(reference->from_ns, reference->to_ns) == 0)
    return 0;
  CLEANUP(kube_objects_freep) struct kube_object **all = kube_mirror_all(grants, reference->to_ns);
  for (size_t i = 0; all[i]; i++) {
    if (names_user(json_at(all[i]->json, "spec", "from"), reference) &&
        names_object(json_at(all[i]->json, "spec", "to"), reference))
      return 0;
  }
  return error_set(err, ERROR_PERMISSION_DENIED,
                   "%s '%s/%s' may not be used from namespace '%s': a ReferenceGrant in namespace "
                   "'%s' from kind %s of namespace '%s' to kind %s is missing",
                   reference->to_kind->kind, reference->to_ns, reference->to_name,
                   reference->from_ns, reference->to_ns, reference->from_kind->kind,
                   reference->from_ns, reference->to_kind->kind);
}
