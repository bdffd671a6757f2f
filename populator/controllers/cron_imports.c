/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/cron_imports.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kube/kube_time.h"
#include "populator/controllers/clone_permission.h"
#include "populator/controllers/cron_status.h"
#include "populator/controllers/data_volume_status.h"
#include "populator/controllers/origin.h"
#include "populator/objects/image_labels.h"
#include "populator/objects/source_link.h"

#define NAME_DIGITS 12
#define KEEP_DEFAULT 3

char *
cron_import_name(const struct kube_object *cron, const char *identity)
{
  char hex[DIGEST_SHA256_HEX];
  const char *digits = identity + strlen("sha256:");
  if (!text_starts_with(identity, "sha256:")) { /* an ETag may be anything */
    digest_sha256_hex(identity, strlen(identity), hex);
    digits = hex;
  }
  return xasprintf("%s-%.*s", json_text(cron->json, "spec", "managedDataSource"), NAME_DIGITS,
                   digits);
}

/* What is written on each import, so that it is known again when managedDataSource was changed: a
 * copy that somebody made of it has another name. To be freed. */
static char *
mark_of(const struct kube_object *cron, const char *name)
{
  return xasprintf("%s %s", cron->uid, name);
}

/* ---- making one -------------------------------------------------------------------------------
 */

static struct json_object *
make_spec(const struct kube_object *cron, const char *url)
{
  struct json_object *template = json_at(cron->json, "spec", "template", "spec");
  struct json_object *spec = template ? json_copy(template) : json_object_new_object();
  struct json_object *source = json_copy(cron_poll_source(cron));
  if (url && json_at(source, "registry"))
    json_put_text(source, url, "registry", "url"); /* no other one, however late it is fetched */
  json_put_at(spec, source, "source");
  if (!json_at(spec, "storage") && !json_at(spec, "pvc"))
    json_put_at(spec, json_object_new_object(), "storage");
  return spec;
}

static struct json_object *
make_metadata(const struct kube_object *cron, const char *name)
{
  struct json_object *template = json_at(cron->json, "spec", "template", "metadata");
  struct json_object *labels = json_at(template, "labels");
  struct json_object *annotations = json_at(template, "annotations");
  struct json_object *metadata = json_object_new_object();
  json_put_text(metadata, cron->ns, "namespace");
  json_put_text(metadata, name, "name");
  json_put_at(metadata, labels ? json_copy(labels) : json_object_new_object(), "labels");
  json_put_at(metadata, annotations ? json_copy(annotations) : json_object_new_object(),
              "annotations");
  (void)image_labels_copy(cron, json_at(metadata, "labels"));
  json_put_text(metadata, cron->name, "labels", LABEL_CRON);
  json_put_text(metadata, "true", "annotations", ANNOTATION_BIND_IMMEDIATE);
  /* whoever made the cron was not asked about the namespace of a claim that it names */
  if (json_at(cron_poll_source(cron), "pvc"))
    json_put_text(metadata, "true", "annotations", ANNOTATION_BY_GRANT);
  const char *identity = json_text(cron_status_import(cron), "Digest");
  if (identity &&
      (json_at(cron_poll_source(cron), "http") || json_at(cron_poll_source(cron), "s3")))
    json_put_text(metadata, identity, "annotations", ANNOTATION_IDENTITY);
  CLEANUP(freep) char *mark = mark_of(cron, name);
  json_put_text(metadata, mark, "annotations", ANNOTATION_IMPORT);
  char now[KUBE_TIME_BYTES];
  json_put_text(metadata, kube_time_now_micro(now), "annotations", ANNOTATION_IMPORT_TIME);
  return metadata;
}

int
cron_import_make(struct populator *populator, const struct kube_object *cron, const char *name,
                 const char *url, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *json = json_object_new_object();
  CLEANUP(error_freep) struct error *failure = NULL;
  json_put_at(json, make_metadata(cron, name), "metadata");
  json_put_at(json, make_spec(cron, url), "spec");
  if (kube_create(populator->client, &data_volumes, json, NULL, &failure) == 0 ||
      failure->code == ERROR_ALREADY_EXISTS)
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}

/* ---- removing them ----------------------------------------------------------------------------
 */

int
cron_import_remove(struct populator *populator, const char *ns, const char *name,
                   struct error **err)
{
  CLEANUP(kube_object_releasep)
  struct kube_object *volume = kube_mirror_get(populator->data_volumes, ns, name);
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, ns, name);
  if (volume && !volume->is_deleting &&
      kube_delete(populator->client, &data_volumes, volume, err) < 0)
    return -1;
  if (!claim || claim->is_deleting)
    return 0;
  return kube_delete(populator->client, &kube_persistent_volume_claims, claim, err);
}

static bool
is_text(const char *text, const char *wanted)
{
  return text && strcmp(text, wanted) == 0;
}

static bool
has_name_of_import(const struct kube_object *object, const struct kube_object *cron)
{
  const char *managed = json_text(cron->json, "spec", "managedDataSource");
  size_t len = strlen(managed);
  return text_starts_with(object->name, managed) && object->name[len] == '-' &&
         strlen(object->name + len + 1) == NAME_DIGITS;
}

static bool
is_marked(struct populator *populator, const struct kube_object *object,
          const struct kube_object *cron)
{
  CLEANUP(kube_object_releasep)
  struct kube_object *volume = kube_mirror_get(populator->data_volumes, object->ns, object->name);
  CLEANUP(freep) char *mark = mark_of(cron, object->name);
  return volume && is_text(kube_object_annotation(volume, ANNOTATION_IMPORT), mark);
}

/* By its label and its name or its mark: a label alone gets about. */
static bool
is_of(struct populator *populator, const struct kube_object *object, const struct kube_object *cron)
{
  return is_text(kube_object_label(object, LABEL_CRON), cron->name) &&
         (has_name_of_import(object, cron) || is_marked(populator, object, cron));
}

static int
remove_of(struct populator *populator, struct kube_mirror *mirror, const struct kube_object *cron,
          struct error **err)
{
  CLEANUP(kube_objects_freep) struct kube_object **all = kube_mirror_all(mirror, cron->ns);
  for (size_t i = 0; all[i]; i++) {
    if (is_of(populator, all[i], cron) &&
        cron_import_remove(populator, cron->ns, all[i]->name, err) < 0)
      return -1;
  }
  return 0;
}

int
cron_imports_remove_all(struct populator *populator, const struct kube_object *cron,
                        struct error **err)
{
  if (remove_of(populator, populator->data_volumes, cron, err) < 0)
    return -1;
  return remove_of(populator, populator->claims, cron, err);
}

/* ---- who uses one -----------------------------------------------------------------------------
 */

/* A claim that is being filled from it: as it was chosen for it, or as Kubernetes itself clones. */
static bool
is_being_filled_from(struct populator *populator, const struct kube_object *claim,
                     const struct source_link *link, const char *link_text)
{
  struct json_object *source = json_at(claim->json, "spec", "dataSource");
  if (json_text(claim->json, "spec", "volumeName"))
    return false;
  return (is_text(kube_object_annotation(claim, ANNOTATION_CLONED_FROM), link_text) &&
          origin_may_be(populator, claim, link)) ||
         (strcmp(claim->ns, link->ns) == 0 &&
          is_text(json_text(source, "kind"), link->kind->kind) &&
          is_text(json_text(source, "name"), link->name));
}

/* By what it names, or what was chosen for it; one that waits for a permission holds nothing. */
static bool
is_cloned_by_volume(struct populator *populator, const struct kube_object *volume,
                    const struct source_link *link)
{
  CLEANUP(source_link_clear) struct source_link named = {0};
  const char *chosen = json_text(volume->json, "status", "clonedFrom");
  if (data_volume_status_is_final(volume) ||
      (!source_link_read(json_at(volume->json, "spec", "source"), volume->ns, &named) &&
       !source_link_parse(chosen, &named)))
    return false;
  return source_link_is_same(&named, link) &&
         clone_permission_check(populator, volume, link, true, NULL) == 0;
}

static bool
is_being_taken_from(const struct kube_object *snapshot, const struct source_link *link)
{
  return !json_flag(snapshot->json, "status", "readyToUse") &&
         strcmp(snapshot->ns, link->ns) == 0 &&
         is_text(json_text(snapshot->json, "spec", "source", "persistentVolumeClaimName"),
                 link->name);
}

static bool
is_used(struct populator *populator, const struct kube_object *import)
{
  const struct source_link link = {&kube_persistent_volume_claims, (char *)import->ns,
                                   (char *)import->name};
  CLEANUP(freep) char *text = source_link_text(&link);
  CLEANUP(kube_objects_freep)
  struct kube_object **claims = kube_mirror_all(populator->claims, NULL);
  CLEANUP(kube_objects_freep)
  struct kube_object **volumes = kube_mirror_all(populator->data_volumes, NULL);
  CLEANUP(kube_objects_freep)
  struct kube_object **snapshots = kube_mirror_all(populator->snapshots, import->ns);
  for (size_t i = 0; claims[i]; i++) {
    if (is_being_filled_from(populator, claims[i], &link, text))
      return true;
  }
  for (size_t i = 0; volumes[i]; i++) {
    if (is_cloned_by_volume(populator, volumes[i], &link))
      return true;
  }
  for (size_t i = 0; snapshots[i]; i++) {
    if (is_being_taken_from(snapshots[i], &link))
      return true;
  }
  return false;
}

/* Whether a DataSource of its namespace leads to it: one that the cron had before, or another. */
static bool
is_in_service(struct populator *populator, const struct kube_object *import)
{
  const struct source_link link = {&kube_persistent_volume_claims, (char *)import->ns,
                                   (char *)import->name};
  CLEANUP(kube_objects_freep)
  struct kube_object **all = kube_mirror_all(populator->data_sources, import->ns);
  bool is_named = false;
  for (size_t i = 0; all[i] && !is_named; i++) {
    CLEANUP(source_link_clear) struct source_link named = {0};
    is_named = source_link_read(json_at(all[i]->json, "spec", "source"), all[i]->ns, &named) &&
               source_link_is_same(&named, &link);
  }
  return is_named;
}

/* ---- collecting -------------------------------------------------------------------------------
 */

static int
compare_or_empty(const char *one, const char *two)
{
  return strcmp(one ? one : "", two ? two : "");
}

/* Kubernetes counts seconds, in which a small image may come and the next one too. */
static int
compare_newest_first(const void *a, const void *b)
{
  const struct kube_object *one = *(struct kube_object *const *)a;
  const struct kube_object *two = *(struct kube_object *const *)b;
  int order = compare_or_empty(json_text(two->json, "metadata", "creationTimestamp"),
                               json_text(one->json, "metadata", "creationTimestamp"));
  if (order == 0)
    order = compare_or_empty(kube_object_annotation(two, ANNOTATION_IMPORT_TIME),
                             kube_object_annotation(one, ANNOTATION_IMPORT_TIME));
  return order != 0 ? order : strcmp(one->name, two->name);
}

/* The claim is what counts: its DataVolume may not have been told yet. */
static bool
is_complete(struct populator *populator, const struct kube_object *volume)
{
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, volume->ns, volume->name);
  return strcmp(data_volume_status_phase(volume), "Succeeded") == 0 ||
         data_volume_claim_is_bound(claim);
}

/* What came to nothing, or is not wanted any more before it was complete. */
static int
collect_unfinished(struct populator *populator, const struct kube_object *cron, const char *wanted,
                   struct error **err)
{
  CLEANUP(kube_objects_freep)
  struct kube_object **all = kube_mirror_all(populator->data_volumes, cron->ns);
  for (size_t i = 0; all[i]; i++) {
    if (is_of(populator, all[i], cron) && !is_text(wanted, all[i]->name) &&
        !is_complete(populator, all[i]) &&
        cron_import_remove(populator, cron->ns, all[i]->name, err) < 0)
      return -1;
  }
  return 0;
}

int
cron_imports_remove_unfinished(struct populator *populator, const struct kube_object *cron,
                               struct error **err)
{
  return collect_unfinished(populator, cron, NULL, err);
}

/* By its label and its mark: a copy has another name. */
static bool
is_import(const struct kube_object *volume)
{
  const char *mark = kube_object_annotation(volume, ANNOTATION_IMPORT);
  const char *name = mark ? strchr(mark, ' ') : NULL;
  return kube_object_label(volume, LABEL_CRON) && name && strcmp(name + 1, volume->name) == 0;
}

int
cron_import_remove_orphan(struct populator *populator, const struct kube_object *volume,
                          bool *ret_is_orphan, struct error **err)
{
  *ret_is_orphan = false;
  if (!is_import(volume) || is_complete(populator, volume))
    return 0;
  const char *name = kube_object_label(volume, LABEL_CRON);
  CLEANUP(kube_object_releasep)
  struct kube_object *known = kube_mirror_get(populator->data_import_crons, volume->ns, name);
  CLEANUP(kube_object_releasep) struct kube_object *cron = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  /* our copy may be behind: another populator has begun it for a cron that we do not know yet */
  if (known ||
      kube_get(populator->client, &data_import_crons, volume->ns, name, &cron, &failure) == 0)
    return 0;
  if (failure->code != ERROR_NOT_FOUND)
    return error_set(err, failure->code, "%s", failure->message);
  *ret_is_orphan = true;
  return cron_import_remove(populator, volume->ns, volume->name, err);
}

static int64_t
keep_of(const struct kube_object *cron)
{
  struct json_object *keep = json_at(cron->json, "spec", "importsToKeep");
  return keep ? json_object_get_int64(keep) : KEEP_DEFAULT;
}

static bool
is_to_be_collected(const struct kube_object *cron)
{
  struct json_object *outdated = json_at(cron->json, "spec", "garbageCollectOutdated");
  return !is_text(json_text(cron->json, "spec", "garbageCollect"), "Never") &&
         (!outdated || json_object_get_boolean(outdated));
}

int
cron_imports_collect(struct populator *populator, const struct kube_object *cron,
                     const char *current, const char *wanted, bool *ret_has_used,
                     struct error **err)
{
  *ret_has_used = false;
  if (collect_unfinished(populator, cron, wanted, err) < 0)
    return -1;
  if (!is_to_be_collected(cron) || !current)
    return 0;
  CLEANUP(kube_objects_freep)
  struct kube_object **all = kube_mirror_all(populator->claims, cron->ns);
  size_t count = 0;
  while (all[count])
    count++;
  qsort(all, count, sizeof(struct kube_object *), compare_newest_first);
  int64_t kept = 1; /* the current one, however old it is */
  for (size_t i = 0; i < count; i++) {
    if (!is_of(populator, all[i], cron) || !data_volume_claim_is_bound(all[i]) ||
        all[i]->is_deleting || strcmp(all[i]->name, current) == 0 || is_text(wanted, all[i]->name))
      continue;
    if (kept++ < keep_of(cron) || is_in_service(populator, all[i]))
      continue;
    if (is_used(populator, all[i])) {
      *ret_has_used = true;
      continue;
    }
    if (cron_import_remove(populator, cron->ns, all[i]->name, err) < 0)
      return -1;
    kube_event_tell(populator->events, &data_import_crons, cron, KUBE_EVENT_NORMAL, "Collected",
                    "import '%s' is too old", all[i]->name);
  }
  return 0;
}
