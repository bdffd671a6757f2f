/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/content_source.h"

#include "controllerplugin/flattener.h"
#include "controllerplugin/passing_snapshot.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/ceph/clone_make.h"
#include "lib/ceph/image.h"

static int
lock_source(struct controller *controller, const struct volume_id *id,
            struct content_source *source, struct error **err)
{
  CLEANUP(freep) char *key = volume_id_encode(id);
  source->lock =
      controller_lock(controller, LOCK_VOLUME, key, KEYED_LOCK_SHARED, "CreateVolume from it", err);
  return source->lock ? 0 : -1;
}

static int
open_source(struct controller *controller, const Csi__V1__VolumeContentSource *content,
            struct content_source *source, struct error **err)
{
  switch (content->type_case) {
  case CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT:
    source->kind = CONTENT_SNAPSHOT;
    source->id = content->snapshot->snapshot_id;
    if (snapshot_find(controller, "volume_content_source.snapshot.snapshot_id", source->id,
                      &source->snapshot, err) < 0)
      return -1;
    return lock_source(controller, &source->snapshot.id.volume, source, err);
  case CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME:
    source->kind = CONTENT_VOLUME;
    source->id = content->volume->volume_id;
    if (volume_find(controller, "volume_content_source.volume.volume_id", source->id,
                    &source->volume, err) < 0)
      return -1;
    return lock_source(controller, &source->volume.id, source, err);
  default:
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "volume_content_source: only a snapshot or a volume can be a source");
  }
}

const char *
content_source_id(const Csi__V1__VolumeContentSource *content)
{
  switch (content ? content->type_case : CSI__V1__VOLUME_CONTENT_SOURCE__TYPE__NOT_SET) {
  case CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT:
    return content->snapshot->snapshot_id;
  case CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME:
    return content->volume->volume_id;
  default:
    return "";
  }
}

int
content_source_open(struct controller *controller, const Csi__V1__VolumeContentSource *content,
                    struct content_source *ret_source, struct error **err)
{
  struct content_source source = {.controller = controller, .kind = CONTENT_BLANK, .id = ""};
  if (content && open_source(controller, content, &source, err) < 0) {
    content_source_clear(&source);
    return -1;
  }
  *ret_source = source;
  return 0;
}

void
content_source_clear(struct content_source *source)
{
  keyed_lock_release(source->lock);
  snapshot_clear(&source->snapshot);
  volume_clear(&source->volume);
  *source = (struct content_source){.id = ""};
}

uint64_t
content_source_size(const struct content_source *source)
{
  switch (source->kind) {
  case CONTENT_SNAPSHOT:
    return source->snapshot.snap.size_bytes;
  case CONTENT_VOLUME:
    return source->volume.header.size_bytes;
  default:
    return 0;
  }
}

struct location *
content_source_location(struct content_source *source)
{
  return source->kind == CONTENT_SNAPSHOT ? source->snapshot.location : source->volume.location;
}

const struct header *
content_source_header(const struct content_source *source)
{
  return source->kind == CONTENT_SNAPSHOT ? &source->snapshot.header : &source->volume.header;
}

/* Its size as the snapshot has it: the volume may have been expanded since its header was read. */
static int
read_snap_size(const struct image_snap *snap, uint64_t *ret_bytes, struct error **err)
{
  struct snaps snaps;
  if (header_read_snaps(snap->location, snap->image_id, &snap->snap_id, 1, &snaps, err) < 0)
    return -1;
  bool is_there = snaps.count == 1;
  *ret_bytes = is_there ? snaps.items[0].size_bytes : 0;
  snaps_clear(&snaps);
  return is_there ? 0 : error_set(err, ERROR_NOT_FOUND, "the snapshot to clone from is gone");
}

/* Nobody copies a volume that stands alone: then its image need not be opened for that. */
static int
take_passing_snapshot(struct content_source *source, struct passing_snapshot **ret_snapshot,
                      struct error **err)
{
  struct controller *controller = source->controller;
  struct volume *volume = &source->volume;
  CLEANUP(image_closep) struct image *image = NULL;
  CLEANUP(flattener_releasep) struct flattener_hold *hold = NULL;
  if (volume->header.parent.pool_id >= 0 &&
      (image_open(volume->location, volume->id.image_id, &image, err) < 0 ||
       flattener_hold(controller->flattener, volume, &hold, err) < 0))
    return -1;
  return passing_snapshot_take(controller->passing_snapshots, volume, ret_snapshot, err);
}

static int
clone_volume(struct content_source *source, struct clone_request *request,
             struct location *location, char **ret_id, struct error **err)
{
  struct volume *volume = &source->volume;
  struct passing_snapshot *snapshot;
  if (take_passing_snapshot(source, &snapshot, err) < 0)
    return -1;
  source->cloned = (struct image_snap){.location = volume->location,
                                       .image_id = volume->id.image_id,
                                       .snap_id = passing_snapshot_id(snapshot)};
  request->parent_name = volume->image_name;
  request->parent_snap_name = passing_snapshot_name(snapshot);
  request->parent_header = &volume->header;
  int r = read_snap_size(&source->cloned, &request->parent_bytes, err);
  request->parent = source->cloned;
  if (request->size_bytes < request->parent_bytes)
    request->size_bytes = request->parent_bytes;
  if (r == 0)
    r = clone_make(request, location, ret_id, err);
  if (passing_snapshot_release(snapshot, r < 0 ? NULL : err) < 0)
    return -1;
  return r;
}

static int
clone_snapshot(struct content_source *source, struct clone_request *request,
               struct location *location, char **ret_id, struct error **err)
{
  const struct snapshot *snapshot = &source->snapshot;
  source->cloned = (struct image_snap){.location = snapshot->location,
                                       .image_id = snapshot->id.volume.image_id,
                                       .snap_id = snapshot->snap.id};
  request->parent = source->cloned;
  request->parent_name = snapshot->image_name;
  request->parent_snap_name = snapshot->snap.name;
  request->parent_header = &snapshot->header;
  request->parent_bytes = snapshot->snap.size_bytes;
  return clone_make(request, location, ret_id, err);
}

int
content_source_clone(struct content_source *source, struct location *location, const char *name,
                     uint64_t size_bytes, const struct image_layout *layout, char **ret_id,
                     struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct clone_request request = {.name = name, .size_bytes = size_bytes, .layout = layout};
  int r = source->kind == CONTENT_VOLUME
              ? clone_volume(source, &request, location, ret_id, &failure)
              : clone_snapshot(source, &request, location, ret_id, &failure);
  if (r == 0)
    return 0;
  /* The source was there a moment ago. Whether it still is, the next call finds out. */
  if (failure->code == ERROR_NOT_FOUND)
    return error_set(err, ERROR_ABORTED, "%s: it changed meanwhile, call again", failure->message);
  return error_set(err, failure->code, "%s", failure->message);
}

void
content_source_forget_clone(struct content_source *source, const struct location *location,
                            const char *id)
{
  if (children_remove(&source->cloned, location, id) < 0)
    log_debug("a clone that was taken away is still counted by its parent; the purger mends that");
}
