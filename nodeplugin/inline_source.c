/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/inline_source.h"

#include <stdio.h>
#include <string.h>

#include "csi/volume/volume_id.h"
#include "lib/base/memory.h"
#include "lib/ceph/directory.h"

static int
find_by_handle(struct node *node, const struct inline_request *request,
               struct inline_source *source, uint64_t *ret_snap_id, struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  struct snapshot_id id;
  if (snapshot_id_decode(request->snapshot_handle, &id, err) < 0)
    return error_wrap(err, "volumeAttributes: 'snapshotHandle'");
  if (*request->cluster_id && strcmp(request->cluster_id, id.volume.cluster_id) != 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "volumeAttributes: 'clusterID' is '%.64s', but the handle is of '%s'",
                     request->cluster_id, id.volume.cluster_id);
  *ret_snap_id = id.snap_id;
  source->image_id = xstrdup(id.volume.image_id);
  if (clusters_get(node->clusters, id.volume.cluster_id, &cluster, err) < 0 ||
      location_open_by_id(cluster, id.volume.pool_id, id.volume.name_space, &source->location,
                          err) < 0)
    return -1;
  return directory_name_of(source->location, source->image_id, &source->image_name, err);
}

static int
find_by_name(struct node *node, const struct inline_request *request, struct inline_source *source,
             struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  source->image_name = xstrdup(request->image);
  if (clusters_get(node->clusters, request->cluster_id, &cluster, err) < 0)
    return error_wrap(err, "volumeAttributes: 'clusterID'");
  if (location_open(cluster, request->pool, request->name_space, &source->location, err) < 0)
    return -1;
  return directory_id_of(source->location, request->image, &source->image_id, err);
}

/* snap_id 0: by its name. */
static int
find_snapshot(const struct inline_request *request, uint64_t snap_id, struct inline_source *source,
              struct error **err)
{
  struct snaps snaps;
  if (header_read_snaps(source->location, source->image_id, source->header.snap_ids,
                        source->header.snap_count, &snaps, err) < 0)
    return -1;
  const struct snap *snap =
      snap_id ? snaps_find(&snaps, snap_id) : snaps_find_name(&snaps, request->snapshot);
  int r = 0;
  if (!snap || snap->kind != SNAP_KIND_USER) {
    r = error_set(err, ERROR_NOT_FOUND, "image '%s/%s' has no such snapshot",
                  source->location->label, source->image_name);
  } else {
    struct snapshot_id id = {.volume.pool_id = source->location->pool_id, .snap_id = snap->id};
    (void)snprintf(id.volume.cluster_id, sizeof(id.volume.cluster_id), "%s",
                   cluster_id(source->location->cluster));
    (void)snprintf(id.volume.name_space, sizeof(id.volume.name_space), "%s",
                   source->location->name_space);
    (void)snprintf(id.volume.image_id, sizeof(id.volume.image_id), "%s", source->image_id);
    source->handle = snapshot_id_encode(&id);
    source->snap_name = xstrdup(snap->name);
    source->snap_id = snap->id;
    source->size_bytes = snap->size_bytes;
  }
  snaps_clear(&snaps);
  return r;
}

static int
find(struct node *node, const struct inline_request *request, struct inline_source *source,
     struct error **err)
{
  uint64_t snap_id = 0;
  int r = *request->snapshot_handle ? find_by_handle(node, request, source, &snap_id, err)
                                    : find_by_name(node, request, source, err);
  if (r < 0 || header_read(source->location, source->image_id, &source->header, err) < 0)
    return -1;
  /* Before anything is told of the image. */
  if (!inline_request_is_allowed(request->pod_namespace, source->image_id,
                                 &source->header.metadata))
    return error_set(err, ERROR_PERMISSION_DENIED,
                     "image '%s/%s' is not for pods of namespace '%.64s'; whoever runs Ceph allows "
                     "it by the image's metadata '%s'",
                     source->location->label, source->image_name, request->pod_namespace,
                     INLINE_NAMESPACES_KEY);
  return find_snapshot(request, snap_id, source, err);
}

int
inline_source_find(struct node *node, const struct inline_request *request,
                   struct inline_source *ret_source, struct error **err)
{
  struct inline_source source = {.header.parent.pool_id = -1};
  if (find(node, request, &source, err) < 0) {
    inline_source_clear(&source);
    return -1;
  }
  *ret_source = source;
  return 0;
}

void
inline_source_clear(struct inline_source *source)
{
  location_close(source->location);
  free(source->image_name);
  free(source->image_id);
  free(source->snap_name);
  free(source->handle);
  header_clear(&source->header);
  *source = (struct inline_source){0};
}
