/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/cron_target.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/cron_imports.h"

/* On a DataSource that had no owner when a cron took a share in it: somebody made it by hand, or a
 * chart, and it is not to go with the cron. */
#define ANNOTATION_ADOPTED "imprint." KINDS_GROUP "/adopted"

static struct json_object *
reference_to(const struct kube_object *cron, bool is_controller)
{
  struct json_object *list = kube_object_owner_references(cron, &data_import_crons);
  struct json_object *reference = json_object_get(json_item(list, 0));
  json_object_put(list);
  json_put_at(reference, json_object_new_boolean(is_controller), "controller");
  json_put_at(reference, json_object_new_boolean(false), "blockOwnerDeletion");
  return reference;
}

/* Its DataSource stays when it goes, so it needs no share in it: nobody has to be there then to
 * give that up. */
static bool
is_for_good(const struct kube_object *cron)
{
  const char *policy = json_text(cron->json, "spec", "retentionPolicy");
  return policy && strcmp(policy, "All") == 0;
}

static bool
is_owner(struct json_object *reference, const struct kube_object *cron)
{
  const char *uid = json_text(reference, "uid");
  return uid && strcmp(uid, cron->uid) == 0;
}

static struct json_object *
owners_without(const struct kube_object *target, const struct kube_object *cron)
{
  struct json_object *present = json_at(target->json, "metadata", "ownerReferences");
  struct json_object *list = json_object_new_array();
  for (size_t i = 0; i < json_count(present); i++) {
    if (!is_owner(json_item(present, i), cron))
      json_object_array_add(list, json_copy(json_item(present, i)));
  }
  return list;
}

static bool
has_share(const struct kube_object *target, const struct kube_object *cron)
{
  struct json_object *present = json_at(target->json, "metadata", "ownerReferences");
  for (size_t i = 0; i < json_count(present); i++) {
    if (is_owner(json_item(present, i), cron))
      return true;
  }
  return false;
}

/* Read-modify-write: ABORTED when somebody else changed it meanwhile. */
static int
write_owners(struct populator *populator, const struct kube_object *target,
             struct json_object *owners, const char *label, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  json_put_at(patch, owners, "metadata", "ownerReferences");
  json_put_text(patch, target->version, "metadata", "resourceVersion");
  json_put_at(patch, label ? json_object_new_string(label) : NULL, "metadata", "labels",
              LABEL_CRON);
  if (label && json_count(json_at(target->json, "metadata", "ownerReferences")) == 0)
    json_put_text(patch, "true", "metadata", "annotations", ANNOTATION_ADOPTED);
  return kube_patch(populator->client, &data_sources, target, NULL, patch, err);
}

static int
make(struct populator *populator, const struct kube_object *cron, const char *name,
     struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *json = json_object_new_object();
  CLEANUP(error_freep) struct error *failure = NULL;
  struct json_object *owners = json_object_new_array();
  if (!is_for_good(cron))
    json_object_array_add(owners, reference_to(cron, true));
  json_put_text(json, cron->ns, "metadata", "namespace");
  json_put_text(json, name, "metadata", "name");
  json_put_text(json, cron->name, "metadata", "labels", LABEL_CRON);
  json_put_at(json, owners, "metadata", "ownerReferences");
  json_put_at(json, json_object_new_object(), "spec", "source");
  if (kube_create(populator->client, &data_sources, json, NULL, &failure) == 0 ||
      failure->code == ERROR_ALREADY_EXISTS)
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}

/* Its label is on it, and it has a share if it is to have one. */
static bool
is_taken(const struct kube_object *target, const struct kube_object *cron)
{
  const char *label = kube_object_label(target, LABEL_CRON);
  return label && strcmp(label, cron->name) == 0 && has_share(target, cron) != is_for_good(cron);
}

/* Another cron that manages it and is there. */
static bool
is_of_another(struct populator *populator, const struct kube_object *target,
              const struct kube_object *cron)
{
  const char *label = kube_object_label(target, LABEL_CRON);
  if (!label || strcmp(label, cron->name) == 0)
    return false;
  CLEANUP(kube_object_releasep)
  struct kube_object *other = kube_mirror_get(populator->data_import_crons, cron->ns, label);
  const char *managed = other ? json_text(other->json, "spec", "managedDataSource") : NULL;
  return managed && !other->is_deleting && strcmp(managed, target->name) == 0;
}

int
cron_target_open(struct populator *populator, const struct kube_object *cron,
                 struct kube_object **ret_target, struct error **err)
{
  const char *name = json_text(cron->json, "spec", "managedDataSource");
  CLEANUP(kube_object_releasep)
  struct kube_object *target = kube_mirror_get(populator->data_sources, cron->ns, name);
  *ret_target = NULL;
  if (!target)
    return make(populator, cron, name, err);
  if (is_of_another(populator, target, cron))
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "spec.managedDataSource: DataSource '%s' is managed by DataImportCron '%s'",
                     name, kube_object_label(target, LABEL_CRON));
  if (target->is_deleting)
    return error_set(err, ERROR_ABORTED, "DataSource '%s' is being deleted", name);
  if (is_taken(target, cron)) {
    *ret_target = TAKE(target);
    return 0;
  }
  struct json_object *owners = owners_without(target, cron);
  if (!is_for_good(cron))
    json_object_array_add(owners, reference_to(cron, false));
  return write_owners(populator, target, owners, cron->name, err);
}

int
cron_target_point(struct populator *populator, const struct kube_object *target, const char *claim,
                  struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  json_put_text(patch, target->ns, "spec", "source", "pvc", "namespace");
  json_put_text(patch, claim, "spec", "source", "pvc", "name");
  json_put_at(patch, NULL, "spec", "source", "snapshot");
  json_put_at(patch, NULL, "spec", "source", "dataSource");
  return kube_patch(populator->client, &data_sources, target, NULL, patch, err);
}

const char *
cron_target_current(const struct kube_object *target)
{
  const char *ns = json_text(target->json, "spec", "source", "pvc", "namespace");
  const char *name = json_text(target->json, "spec", "source", "pvc", "name");
  return !ns || strcmp(ns, target->ns) == 0 ? name : NULL;
}

bool
cron_target_has_share(struct populator *populator, const struct kube_object *cron)
{
  CLEANUP(kube_objects_freep)
  struct kube_object **all = kube_mirror_all(populator->data_sources, cron->ns);
  for (size_t i = 0; all[i]; i++) {
    if (has_share(all[i], cron))
      return true;
  }
  return false;
}

int
cron_target_leave(struct populator *populator, const struct kube_object *cron, bool is_all,
                  struct error **err)
{
  CLEANUP(kube_objects_freep)
  struct kube_object **all = kube_mirror_all(populator->data_sources, cron->ns);
  for (size_t i = 0; all[i]; i++) {
    bool is_left = is_all || kube_object_annotation(all[i], ANNOTATION_ADOPTED);
    if (is_left && has_share(all[i], cron) &&
        write_owners(populator, all[i], owners_without(all[i], cron), NULL, err) < 0)
      return -1;
  }
  return 0;
}
