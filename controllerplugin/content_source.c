/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/content_source.h"

#include "controllerplugin/passing_snapshot.h"
#include "lib/base/memory.h"

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

static int
clone_volume(struct controller *controller, struct volume *volume, struct location *location,
             const char *name, const struct image_layout *layout, struct error **err)
{
  struct passing_snapshot *snapshot;
  if (passing_snapshot_take(controller->passing_snapshots, volume, &snapshot, err) < 0)
    return -1;
  int r = image_clone(volume->location, volume->image_name, passing_snapshot_name(snapshot),
                      location, name, layout, err);
  if (passing_snapshot_release(snapshot, r < 0 ? NULL : err) < 0)
    return -1;
  return r;
}

static int
clone_source(struct content_source *source, struct location *location, const char *name,
             const struct image_layout *layout, struct error **err)
{
  if (source->kind == CONTENT_VOLUME)
    return clone_volume(source->controller, &source->volume, location, name, layout, err);
  return image_clone(source->snapshot.location, source->snapshot.image_name,
                     source->snapshot.snap.name, location, name, layout, err);
}

int
content_source_clone(struct content_source *source, struct location *location, const char *name,
                     const struct image_layout *layout, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (clone_source(source, location, name, layout, &failure) == 0)
    return 0;
  /* The source was there a moment ago. Whether it still is, the next call finds out. */
  if (failure->code == ERROR_NOT_FOUND)
    return error_set(err, ERROR_ABORTED, "%s: it changed meanwhile, call again", failure->message);
  return error_set(err, failure->code, "%s", failure->message);
}
