/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/volume.h"

#include <string.h>

#include "csi/volume/image_name.h"
#include "csi/volume/proto_map.h"
#include "csi/volume/record.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/passing_name.h"

int
volume_locate(struct controller *controller, const struct volume_id *id,
              struct location **ret_location, struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  if (clusters_get(controller->clusters, id->cluster_id, &cluster, err) < 0) {
    /* The volume may well exist: that its cluster is not configured must not look like "gone". */
    if (err && (*err)->code == ERROR_NOT_FOUND)
      (*err)->code = ERROR_FAILED_PRECONDITION;
    return -1;
  }
  return location_open_by_id(cluster, id->pool_id, id->name_space, ret_location, err);
}

/* Whatever kept a thing from being found, said of the thing that was asked for. */
static int
not_found(const char *what, const char *text, struct error **err)
{
  if (err && ((*err)->code == ERROR_INVALID_ARGUMENT || (*err)->code == ERROR_NOT_FOUND)) {
    CLEANUP(error_freep) struct error *cause = TAKE(*err);
    return error_set(err, ERROR_NOT_FOUND, "no %s '%.*s': %s", what, VOLUME_ID_MAX, text,
                     cause->message);
  }
  return error_wrap(err, "%s '%.*s'", what, VOLUME_ID_MAX, text);
}

static int
find_image(struct controller *controller, const struct volume_id *id,
           struct location **ret_location, char **ret_name, struct header *ret_header,
           struct error **err)
{
  CLEANUP(location_closep) struct location *location = NULL;
  CLEANUP(freep) char *name = NULL;
  if (volume_locate(controller, id, &location, err) < 0 ||
      directory_name_of(location, id->image_id, &name, err) < 0 ||
      header_read(location, id->image_id, ret_header, err) < 0)
    return -1;
  *ret_location = TAKE(location);
  *ret_name = TAKE(name);
  return 0;
}

static int
find_volume(struct controller *controller, const char *text, struct volume *volume,
            struct error **err)
{
  if (volume_id_decode(text, &volume->id, err) < 0 ||
      find_image(controller, &volume->id, &volume->location, &volume->image_name, &volume->header,
                 err) < 0)
    return -1;
  if (!text_starts_with(volume->image_name, IMAGE_NAME_VOLUME_PREFIX))
    return error_set(err, ERROR_NOT_FOUND, "it was deleted, or is not one of this driver's");
  if (!record_is_ready(&volume->header.metadata, volume->id.image_id))
    return error_set(err, ERROR_NOT_FOUND, "it was never finished");
  return 0;
}

int
volume_find(struct controller *controller, const char *field, const char *volume_id,
            struct volume *ret_volume, struct error **err)
{
  if (!*volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s is needed", field);
  struct volume volume = {.header.parent.pool_id = -1};
  if (find_volume(controller, volume_id, &volume, err) < 0) {
    volume_clear(&volume);
    return not_found("volume", volume_id, err);
  }
  *ret_volume = volume;
  return 0;
}

void
volume_clear(struct volume *volume)
{
  location_close(volume->location);
  free(volume->image_name);
  header_clear(&volume->header);
  *volume = (struct volume){0};
}

int
snapshots_read(struct location *location, const char *image_id, struct snaps *ret_snaps,
               struct error **err)
{
  struct header header;
  if (header_read(location, image_id, &header, err) < 0)
    return -1;
  int r = header_read_snaps(location, image_id, header.snap_ids, header.snap_count, ret_snaps, err);
  header_clear(&header);
  return r;
}

bool
snapshot_is_ours(const struct snap *snap)
{
  return snap->kind == SNAP_KIND_USER && text_starts_with(snap->name, IMAGE_NAME_SNAPSHOT_PREFIX);
}

bool
snapshot_is_passing(const struct snap *snap)
{
  return snap->kind == SNAP_KIND_USER && text_starts_with(snap->name, PASSING_NAME_PREFIX);
}

bool
snapshots_are_needed(const struct snaps *snaps)
{
  for (size_t i = 0; i < snaps->count; i++) {
    if (snaps->items[i].kind == SNAP_KIND_USER && !snapshot_is_passing(&snaps->items[i]))
      return true;
  }
  return false;
}

static int
find_snap(struct snapshot *snapshot, struct error **err)
{
  struct snaps snaps;
  if (header_read_snaps(snapshot->location, snapshot->id.volume.image_id, &snapshot->id.snap_id, 1,
                        &snaps, err) < 0)
    return -1;
  if (snaps.count != 1 || !snapshot_is_ours(&snaps.items[0])) {
    snaps_clear(&snaps);
    return error_set(err, ERROR_NOT_FOUND, "it was deleted, or is not one of this driver's");
  }
  snapshot->snap = snaps.items[0];
  snapshot->snap.name = TAKE(snaps.items[0].name);
  snaps_clear(&snaps);
  return 0;
}

int
snapshot_find(struct controller *controller, const char *field, const char *snapshot_id,
              struct snapshot *ret_snapshot, struct error **err)
{
  if (!*snapshot_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s is needed", field);
  struct snapshot snapshot = {.header.parent.pool_id = -1};
  if (snapshot_id_decode(snapshot_id, &snapshot.id, err) < 0 ||
      find_image(controller, &snapshot.id.volume, &snapshot.location, &snapshot.image_name,
                 &snapshot.header, err) < 0 ||
      find_snap(&snapshot, err) < 0) {
    snapshot_clear(&snapshot);
    return not_found("snapshot", snapshot_id, err);
  }
  *ret_snapshot = snapshot;
  return 0;
}

void
snapshot_clear(struct snapshot *snapshot)
{
  location_close(snapshot->location);
  free(snapshot->image_name);
  header_clear(&snapshot->header);
  free(snapshot->snap.name);
  *snapshot = (struct snapshot){0};
}

/* The content source of an answer, from the handle that the record keeps. */
static Csi__V1__VolumeContentSource *
describe_source(const char *source)
{
  if (!*source)
    return NULL;
  Csi__V1__VolumeContentSource *content = xcalloc(1, sizeof(*content));
  csi__v1__volume_content_source__init(content);
  if (strchr(source, '@')) {
    content->type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT;
    content->snapshot = xcalloc(1, sizeof(*content->snapshot));
    csi__v1__volume_content_source__snapshot_source__init(content->snapshot);
    content->snapshot->snapshot_id = xstrdup(source);
  } else {
    content->type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME;
    content->volume = xcalloc(1, sizeof(*content->volume));
    csi__v1__volume_content_source__volume_source__init(content->volume);
    content->volume->volume_id = xstrdup(source);
  }
  return content;
}

Csi__V1__Volume *
volume_describe(const struct volume_id *id, const struct header *header)
{
  Csi__V1__Volume *volume = xcalloc(1, sizeof(*volume));
  csi__v1__volume__init(volume);
  volume->volume_id = volume_id_encode(id);
  volume->capacity_bytes = (int64_t)header->size_bytes;
  volume->content_source = describe_source(record_source(&header->metadata));
  struct string_map context = {0};
  record_volume_context(&header->metadata, &context);
  PROTO_MAP_WRITE(&context, volume->volume_context, volume->n_volume_context,
                  Csi__V1__Volume__VolumeContextEntry, CSI__V1__VOLUME__VOLUME_CONTEXT_ENTRY__INIT);
  string_map_clear(&context);
  return volume;
}

Csi__V1__Snapshot *
snapshot_describe(const struct volume_id *volume, const struct snap *snap)
{
  Csi__V1__Snapshot *snapshot = xcalloc(1, sizeof(*snapshot));
  csi__v1__snapshot__init(snapshot);
  struct snapshot_id id = {.volume = *volume, .snap_id = snap->id};
  snapshot->snapshot_id = snapshot_id_encode(&id);
  snapshot->source_volume_id = volume_id_encode(volume);
  snapshot->size_bytes = (int64_t)snap->size_bytes;
  snapshot->ready_to_use = true;
  snapshot->creation_time = xcalloc(1, sizeof(*snapshot->creation_time));
  google__protobuf__timestamp__init(snapshot->creation_time);
  snapshot->creation_time->seconds = snap->created_s;
  snapshot->creation_time->nanos = (int32_t)snap->created_ns;
  return snapshot;
}
