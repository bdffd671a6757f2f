/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/clone_source.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/bound_volume.h"
#include "populator/objects/quantity.h"

/* DataSources that lead to DataSources: a loop ends here as well. */
#define DEPTH_MAX 8

void
clone_source_clear(struct clone_source *source)
{
  free(source->snapshot);
  free(source->volume);
  free(source->mode);
  *source = (struct clone_source){0};
}

static int
find_claim(struct populator *populator, const struct source_link *link,
           struct clone_source *ret_source, struct error **err)
{
  struct bound_volume volume = {0};
  if (bound_volume_find(populator, link->ns, link->name, "the source", &volume, err) < 0)
    return -1;
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, link->ns, link->name);
  ret_source->volume = volume.handle;
  ret_source->bytes = volume.bytes;
  ret_source->mode = claim ? xstrdup(json_text(claim->json, "spec", "volumeMode")) : NULL;
  return 0;
}

static int
find_content(struct populator *populator, const struct kube_object *snapshot, const char *name,
             struct clone_source *ret_source, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *content = NULL;
  if (kube_get(populator->client, &kube_volume_snapshot_contents, NULL, name, &content, err) < 0)
    return -1;
  const char *driver = json_text(content->json, "spec", "driver");
  const char *handle = json_text(content->json, "status", "snapshotHandle");
  if (!driver || strcmp(driver, populator->driver) != 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "the source: VolumeSnapshot '%s/%s' is of another driver than %s",
                     snapshot->ns, snapshot->name, populator->driver);
  if (!handle)
    return error_set(err, ERROR_UNAVAILABLE, "the source: VolumeSnapshot '%s/%s' is not ready yet",
                     snapshot->ns, snapshot->name);
  if (quantity_of(json_at(snapshot->json, "status", "restoreSize"), "status.restoreSize",
                  &ret_source->bytes, err) < 0)
    return -1;
  ret_source->snapshot = xstrdup(handle);
  ret_source->mode = xstrdup(json_text(content->json, "spec", "sourceVolumeMode"));
  return 0;
}

static int
find_snapshot(struct populator *populator, const struct source_link *link,
              struct clone_source *ret_source, struct error **err)
{
  CLEANUP(kube_object_releasep)
  struct kube_object *snapshot = kube_mirror_get(populator->snapshots, link->ns, link->name);
  if (!snapshot)
    return error_set(err, ERROR_UNAVAILABLE, "the source: there is no VolumeSnapshot '%s/%s'",
                     link->ns, link->name);
  const char *content = json_text(snapshot->json, "status", "boundVolumeSnapshotContentName");
  if (!content || !json_flag(snapshot->json, "status", "readyToUse"))
    return error_set(err, ERROR_UNAVAILABLE, "the source: VolumeSnapshot '%s/%s' is not ready yet",
                     link->ns, link->name);
  return find_content(populator, snapshot, content, ret_source, err);
}

int
clone_source_find(struct populator *populator, const struct source_link *link,
                  struct clone_source *ret_source, struct error **err)
{
  *ret_source = (struct clone_source){0};
  return link->kind == &kube_volume_snapshots ? find_snapshot(populator, link, ret_source, err)
                                              : find_claim(populator, link, ret_source, err);
}

bool
clone_source_is_there(struct populator *populator, const struct source_link *link)
{
  CLEANUP(kube_object_releasep)
  struct kube_object *found = kube_mirror_get(
      link->kind == &kube_volume_snapshots ? populator->snapshots : populator->claims, link->ns,
      link->name);
  return found && !found->is_deleting;
}

/* ---- DataSources ------------------------------------------------------------------------------
 */

/* The next DataSource on the way; a reference. */
static int
step(struct populator *populator, const struct kube_object *data_source,
     struct kube_object **ret_next, const char **ret_reason, struct error **err)
{
  struct json_object *source = json_at(data_source->json, "spec", "source");
  const char *name = json_text(source, "dataSource", "name");
  const char *ns = json_text(source, "dataSource", "namespace");
  if (!name) {
    *ret_reason = "NoSource";
    return error_set(err, ERROR_UNAVAILABLE, "DataSource '%s/%s' has no source yet",
                     data_source->ns, data_source->name);
  }
  if (ns && *ns && strcmp(ns, data_source->ns) != 0) {
    *ret_reason = "CrossNamespaceReference";
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "DataSource '%s/%s' names one of another namespace, '%s'", data_source->ns,
                     data_source->name, ns);
  }
  if (strcmp(name, data_source->name) == 0) {
    *ret_reason = "SelfReference";
    return error_set(err, ERROR_FAILED_PRECONDITION, "DataSource '%s/%s' names itself",
                     data_source->ns, data_source->name);
  }
  *ret_next = kube_mirror_get(populator->data_sources, data_source->ns, name);
  if (*ret_next)
    return 0;
  *ret_reason = "NotFound";
  return error_set(err, ERROR_UNAVAILABLE, "there is no DataSource '%s/%s'", data_source->ns, name);
}

int
clone_source_follow(struct populator *populator, const struct kube_object *data_source,
                    struct source_link *ret_link, const char **ret_reason, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *at = NULL;
  for (int depth = 0; depth < DEPTH_MAX; depth++) {
    const struct kube_object *here = at ? at : data_source;
    if (source_link_read(json_at(here->json, "spec", "source"), here->ns, ret_link))
      return 0;
    struct kube_object *next = NULL;
    if (step(populator, here, &next, ret_reason, err) < 0)
      return -1;
    kube_object_release(at);
    at = next;
  }
  *ret_reason = "MaxReferenceDepthReached";
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "from DataSource '%s/%s' the way leads over more than %d others, or in a circle",
                   data_source->ns, data_source->name, DEPTH_MAX - 1);
}

int
clone_source_follow_named(struct populator *populator, const char *ns, const char *name,
                          struct source_link *ret_link, struct error **err)
{
  const char *reason;
  CLEANUP(kube_object_releasep)
  struct kube_object *data_source = kube_mirror_get(populator->data_sources, ns, name);
  if (!data_source)
    return error_set(err, ERROR_UNAVAILABLE, "waits for DataSource '%s/%s': there is none", ns,
                     name);
  return clone_source_follow(populator, data_source, ret_link, &reason, err);
}
