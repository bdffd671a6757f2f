/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the image of a volume: blank, as a clone, or as a full copy. The last step writes the
 * record that says so; before it, nobody is told of the image. */
#include <errno.h>
#include <stdio.h>

#include "controllerplugin/creation.h"
#include "controllerplugin/flattener.h"
#include "controllerplugin/places.h"
#include "controllerplugin/volume.h"
#include "csi/volume/capacity.h"
#include "lib/base/memory.h"
#include "lib/ceph/image_change.h"
#include "lib/ceph/image_create.h"
#include "lib/ceph/image_make.h"
#include "lib/ceph/lost_parent.h"
#include "lib/ceph/unfinished.h"

void
creation_answer(struct creation *c, const char *image_id, const struct header *header,
                Csi__V1__CreateVolumeResponse *response)
{
  struct volume_id id = {.pool_id = c->location->pool_id};
  (void)snprintf(id.cluster_id, sizeof(id.cluster_id), "%s", cluster_id(c->location->cluster));
  (void)snprintf(id.name_space, sizeof(id.name_space), "%s", c->location->name_space);
  (void)snprintf(id.image_id, sizeof(id.image_id), "%s", image_id);
  response->volume = volume_describe(&id, header);
}

/* What stands on a finished volume. */
static void
describe(void *context, const char *image_id, struct string_map *metadata)
{
  struct creation *c = context;
  record_write_ready(&c->record, image_id, metadata);
  for (size_t i = 0; i < c->limits.count; i++)
    string_map_set(metadata, c->limits.entries[i].key, c->limits.entries[i].value);
}

static void
answer_made(struct creation *c, const char *image_id, uint64_t size_bytes,
            Csi__V1__CreateVolumeResponse *response)
{
  struct header header = {.size_bytes = size_bytes};
  describe(c, image_id, &header.metadata);
  places_note_made(c->controller->places, c->location);
  creation_answer(c, image_id, &header, response);
  string_map_clear(&header.metadata);
}

/* Writes on the image, unless somebody has taken us for dead and the image away: then the name is
 * not ours any more, ALREADY_EXISTS. */
static int
write_record(struct creation *c, const char *image_id, const struct string_map *record,
             const struct string_map *inherited, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (header_update_metadata_if(c->location, image_id, UNFINISHED_DOOMED, NULL, record, inherited,
                                &failure) == 0)
    return 0;
  bool is_lost = failure->code == ERROR_ABORTED || failure->code == ERROR_NOT_FOUND;
  return error_set(err, is_lost ? ERROR_ALREADY_EXISTS : failure->code, "%s", failure->message);
}

enum commit_kind { COMMIT_CLONE, COMMIT_DEEP_CLONE, COMMIT_COPY };

/* The last step of a clone: the record. Whatever it got from its parent goes in the same step. */
static int
commit(struct creation *c, const char *image_id, uint64_t size_bytes, enum commit_kind kind,
       Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  struct string_map metadata = {0};
  struct string_map inherited = {0};
  describe(c, image_id, &metadata);
  if (kind == COMMIT_DEEP_CLONE) /* nobody sees it without: see flattening.h */
    record_write_flattening(image_id, &metadata);
  if (kind == COMMIT_COPY)
    record_list_copying(&inherited);
  else
    record_list_inherited(&content_source_header(&c->source)->metadata, &inherited);
  int r = write_record(c, image_id, &metadata, &inherited, err);
  string_map_clear(&metadata);
  string_map_clear(&inherited);
  if (r == 0)
    answer_made(c, image_id, size_bytes, response);
  return r;
}

struct copy_progress {
  struct controller *controller;
  struct keyed_lock *lock;
};

static int
on_copy_progress(void *context, int percent)
{
  struct copy_progress *progress = context;
  keyed_lock_report(progress->lock, percent);
  return atomic_load(&progress->controller->is_stopping) ? -ECANCELED : 0;
}

/* copyMode=clone, or a chain that is too long: everything is copied before the volume is ready. The
 * call that asked is answered at its deadline; the copying goes on, and later calls learn from the
 * lock how far it is. */
static int
copy_all(struct creation *c, const char *image_id, struct error **err)
{
  CLEANUP(image_closep) struct image *image = NULL;
  struct copy_progress progress = {.controller = c->controller, .lock = c->lock};
  if (lost_parent_cut(c->location, image_id, err) < 0 ||
      image_open(c->location, image_id, &image, err) < 0)
    return -1;
  return image_flatten(image, on_copy_progress, &progress, err);
}

int
creation_finish_copy(struct creation *c, const char *image_id, uint64_t size_bytes,
                     Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  if (copy_all(c, image_id, err) < 0)
    return -1;
  return commit(c, image_id, size_bytes, COMMIT_COPY, response, err);
}

static int
begin_copy(struct creation *c, const char *image_id, struct error **err)
{
  struct string_map record = {0};
  struct string_map inherited = {0};
  record_write_copying(&c->record, image_id, &record);
  record_list_inherited(&content_source_header(&c->source)->metadata, &inherited);
  int r = write_record(c, image_id, &record, &inherited, err);
  string_map_clear(&record);
  string_map_clear(&inherited);
  return r;
}

/* The steps behind the clone. */
static int
finish_clone(struct creation *c, const char *image_id, uint64_t size_bytes, enum commit_kind kind,
             Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  if (kind != COMMIT_COPY)
    return commit(c, image_id, size_bytes, kind, response, err);
  if (begin_copy(c, image_id, err) < 0)
    return -1;
  return creation_finish_copy(c, image_id, size_bytes, response, err);
}

/* The image was there a moment ago and was taken away: like a name that is taken. */
static int
tell_lost(struct creation *c, const char *image_id, struct error **err)
{
  if ((*err)->code == ERROR_NOT_FOUND)
    (*err)->code = ERROR_ALREADY_EXISTS;
  if ((*err)->code == ERROR_ALREADY_EXISTS)
    content_source_forget_clone(&c->source, c->location, image_id);
  return -1;
}

/* A copy-on-write clone. How deep it would stand decides whether it stays one. */
static int
make_clone(struct creation *c, uint64_t size_bytes, const struct image_layout *layout,
           Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  struct flattener_depth depth;
  CLEANUP(freep) char *id = NULL;
  if (flattener_read_depth(&c->source, &depth, err) < 0 ||
      content_source_clone(&c->source, c->location, c->image_name, size_bytes, layout, &id, err) <
          0)
    return -1;
  enum commit_kind kind = depth.is_too_deep || c->parameters.copy_mode == COPY_MODE_CLONE
                              ? COMMIT_COPY
                          : depth.is_deep ? COMMIT_DEEP_CLONE
                                          : COMMIT_CLONE;
  if (finish_clone(c, id, size_bytes, kind, response, err) < 0)
    return tell_lost(c, id, err);
  if (kind == COMMIT_DEEP_CLONE)
    flattener_add(c->controller->flattener, c->location, id);
  return 0;
}

static int
make_blank(struct creation *c, uint64_t size_bytes, const struct image_layout *layout,
           Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  const struct image_request request = {.name = c->image_name,
                                        .size_bytes = size_bytes,
                                        .layout = layout,
                                        .describe = describe,
                                        .context = c};
  CLEANUP(freep) char *id = NULL;
  if (image_make(c->location, &request, &id, err) < 0)
    return -1;
  answer_made(c, id, size_bytes, response);
  return 0;
}

int
creation_make(struct creation *c, Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  const struct image_layout layout = {.features = c->parameters.features,
                                      .order = c->parameters.order,
                                      .stripe_unit = c->parameters.stripe_unit,
                                      .stripe_count = c->parameters.stripe_count,
                                      .data_pool = c->parameters.data_pool};
  uint64_t source_bytes = content_source_size(&c->source);
  uint64_t size_bytes;
  bool is_blank = c->source.kind == CONTENT_BLANK;
  uint64_t order =
      layout.order || is_blank ? layout.order : content_source_header(&c->source)->order;
  if (capacity_choose(c->request->capacity_range, source_bytes, &size_bytes, err) < 0 ||
      capacity_check_objects(size_bytes, order, layout.features, err) < 0)
    return -1;
  return is_blank ? make_blank(c, size_bytes, &layout, response, err)
                  : make_clone(c, size_bytes, &layout, response, err);
}
