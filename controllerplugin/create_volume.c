/* SPDX-License-Identifier: Apache-2.0 */
/* CreateVolume.
 *
 * The image's name follows from the request's name. Making it takes several steps; the last one
 * writes the record that says so (csi/volume/record.h). Whoever finds an image without its record
 * finds the remains of a call that died, or the work of another controller that has the same call,
 * as after a change of leaders. So he waits a moment for the record; then the image is taken away
 * from whoever makes it (lib/ceph/unfinished.h) and made anew. Nobody was told of it. Only a full
 * copy that was begun is gone on with.
 *
 * A blank volume is made first and looked for only when its name turns out to be taken: the common
 * case costs one create, one read and one write. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "controllerplugin/base_image.h"
#include "controllerplugin/content_source.h"
#include "controllerplugin/controller.h"
#include "controllerplugin/flattener.h"
#include "controllerplugin/places.h"
#include "csi/volume/capability.h"
#include "csi/volume/capacity.h"
#include "csi/volume/image_name.h"
#include "csi/volume/limits.h"
#include "csi/volume/proto_map.h"
#include "csi/volume/record.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_make.h"
#include "lib/ceph/lost_parent.h"
#include "lib/ceph/unfinished.h"

/* CSI's limit for names. */
#define NAME_MAX_BYTES 128
/* A name that is taken, cleaned up and taken again by someone else: give up and be called again. */
#define ATTEMPTS 3
/* How long somebody else may take for his next steps before he is taken for dead. Whether he is
 * does not matter for what comes out, only for how often it is begun. */
#define PATIENCE_MS 1000
#define LOOK_MS 50

/* One call on its way. */
struct creation {
  struct controller *controller;
  const Csi__V1__CreateVolumeRequest *request;
  struct volume_parameters parameters;
  struct string_map limits; /* as image metadata */
  struct record record;
  char *image_name;
  struct keyed_lock *lock;
  struct location *location;
  struct content_source source;
};

enum found_state {
  FOUND_NOTHING,
  FOUND_READY,
  FOUND_COPYING,    /* a full copy, begun and not finished */
  FOUND_UNFINISHED, /* the remains of a call that died, or somebody is at it */
};

/* What there is under the name. */
struct found {
  enum found_state state;
  char *id;
  bool has_header;
  struct header header;
};

static void
found_clear(struct found *found)
{
  free(found->id);
  if (found->has_header)
    header_clear(&found->header);
  *found = (struct found){0};
}

static void
creation_clear(struct creation *c)
{
  content_source_clear(&c->source);
  location_close(c->location);
  keyed_lock_release(c->lock);
  free(c->image_name);
  string_map_clear(&c->limits);
  volume_parameters_clear(&c->parameters);
}

static int
check_name(const char *name, struct error **err)
{
  if (!*name)
    return error_set(err, ERROR_INVALID_ARGUMENT, "name is needed");
  if (strlen(name) > NAME_MAX_BYTES)
    return error_set(err, ERROR_INVALID_ARGUMENT, "name has %zu bytes, CSI allows %d", strlen(name),
                     NAME_MAX_BYTES);
  return 0;
}

/* Everything that can be said of the request without asking Ceph. */
static int
parse_request(struct creation *c, struct error **err)
{
  const Csi__V1__CreateVolumeRequest *request = c->request;
  if (check_name(request->name, err) < 0 ||
      capabilities_check(request->volume_capabilities, request->n_volume_capabilities, err) < 0)
    return -1;
  struct string_map given = {0};
  PROTO_MAP_READ(&given, request->parameters, request->n_parameters);
  int r = volume_parameters_parse(&given, &c->parameters, err);
  string_map_clear(&given);
  if (r < 0)
    return -1;
  PROTO_MAP_READ(&given, request->mutable_parameters, request->n_mutable_parameters);
  r = limits_parse(&given, &c->limits, err);
  string_map_clear(&given);
  c->image_name = image_name_of_volume(request->name);
  return r;
}

/* librbd would answer that a file is missing, and not which. */
static int
check_data_pool(struct cluster *cluster, const char *pool, struct error **err)
{
  CLEANUP(location_closep) struct location *location = NULL;
  if (!pool || location_open(cluster, pool, "", &location, err) == 0)
    return 0;
  if (err && (*err)->code == ERROR_NOT_FOUND)
    (*err)->code = ERROR_INVALID_ARGUMENT;
  return error_wrap(err, "parameter 'dataPool'");
}

static int
open_location(struct creation *c, struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  if (clusters_get(c->controller->clusters, c->parameters.cluster_id, &cluster, err) < 0) {
    if (err && (*err)->code == ERROR_NOT_FOUND)
      (*err)->code = ERROR_INVALID_ARGUMENT;
    return error_wrap(err, "parameter 'clusterID'");
  }
  if (check_data_pool(cluster, c->parameters.data_pool, err) < 0)
    return -1;
  return places_open(c->controller->places, cluster, c->parameters.pool, c->parameters.name_space,
                     &c->location, err);
}

/* One name, one volume, wherever it lies. */
static int
check_elsewhere(struct creation *c, struct error **err)
{
  CLEANUP(freep)
  char *label =
      places_find_elsewhere(c->controller->places, c->location, directory_find_name, c->image_name);
  if (label)
    return error_set(err, ERROR_ALREADY_EXISTS,
                     "it exists in '%s', now parameters 'pool' and 'namespace' ask for '%s'", label,
                     c->location->label);
  return 0;
}

static int
open_source(struct creation *c, struct error **err)
{
  const Csi__V1__VolumeContentSource *content = c->request->volume_content_source;
  c->record = (struct record){
      .name = c->request->name, .source = content_source_id(content), .parameters = &c->parameters};
  if (content_source_open(c->controller, content, &c->source, err) < 0)
    return -1;
  if (c->source.kind == CONTENT_BLANK)
    return 0;
  if (content_source_location(&c->source)->cluster != c->location->cluster)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "the source lies in cluster '%s', the volume is asked for in '%s': a clone "
                     "cannot cross clusters",
                     cluster_id(content_source_location(&c->source)->cluster),
                     cluster_id(c->location->cluster));
  return 0;
}

static int
look(struct creation *c, struct found *ret_found, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct found found = {.state = FOUND_NOTHING};
  int r = directory_id_of(c->location, c->image_name, &found.id, &failure);
  if (r == 0) {
    found.state = FOUND_UNFINISHED;
    r = header_read(c->location, found.id, &found.header, &failure);
    found.has_header = r == 0;
  }
  if (r < 0 && failure->code != ERROR_NOT_FOUND) {
    found_clear(&found);
    return error_set(err, failure->code, "%s", failure->message);
  }
  if (found.has_header && record_is_ready(&found.header.metadata, found.id))
    found.state = FOUND_READY;
  else if (found.has_header && record_is_copying(&found.header.metadata, found.id))
    found.state = FOUND_COPYING;
  *ret_found = found;
  return 0;
}

/* The same, and if somebody may be at it, once more until he is through or takes too long. */
static int
look_patiently(struct creation *c, struct found *ret_found, struct error **err)
{
  if (look(c, ret_found, err) < 0)
    return -1;
  for (int waited_ms = 0; ret_found->state == FOUND_UNFINISHED && waited_ms < PATIENCE_MS;
       waited_ms += LOOK_MS) {
    found_clear(ret_found);
    (void)usleep(LOOK_MS * 1000);
    if (look(c, ret_found, err) < 0)
      return -1;
  }
  return 0;
}

static void
answer(struct creation *c, const char *image_id, const struct header *header,
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
  answer(c, image_id, &header, response);
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

/* The last step of a clone: the record. Whatever it got from its parent goes in the same step. */
static int
commit(struct creation *c, const char *image_id, uint64_t size_bytes, bool was_copying,
       Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  struct string_map metadata = {0};
  struct string_map inherited = {0};
  describe(c, image_id, &metadata);
  if (was_copying)
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

/* copyMode=clone: everything is copied before the volume is ready. The call that asked is answered
 * at its deadline; the copying goes on, and later calls learn from the lock how far it is. */
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

static int
grow(struct creation *c, const char *image_id, uint64_t size_bytes, struct error **err)
{
  CLEANUP(image_closep) struct image *image = NULL;
  if (image_open(c->location, image_id, &image, err) < 0)
    return -1;
  return image_grow(image, size_bytes, err);
}

/* The steps behind the clone. */
static int
finish_clone(struct creation *c, const char *image_id, uint64_t size_bytes,
             Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  bool is_copy = c->parameters.copy_mode == COPY_MODE_CLONE;
  if (size_bytes > content_source_size(&c->source) && grow(c, image_id, size_bytes, err) < 0)
    return -1;
  if (is_copy && (begin_copy(c, image_id, err) < 0 || copy_all(c, image_id, err) < 0))
    return -1;
  return commit(c, image_id, size_bytes, is_copy, response, err);
}

/* An image that was there a moment ago was taken away, like a name that is taken. */
static int
tell_lost(struct error **err)
{
  if (err && (*err)->code == ERROR_NOT_FOUND)
    (*err)->code = ERROR_ALREADY_EXISTS;
  return -1;
}

static int
make(struct creation *c, Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  const struct image_layout layout = {.features = c->parameters.features,
                                      .order = c->parameters.order,
                                      .stripe_unit = c->parameters.stripe_unit,
                                      .stripe_count = c->parameters.stripe_count,
                                      .data_pool = c->parameters.data_pool};
  uint64_t source_bytes = content_source_size(&c->source);
  uint64_t size_bytes;
  CLEANUP(freep) char *id = NULL;
  uint64_t order = layout.order || c->source.kind == CONTENT_BLANK
                       ? layout.order
                       : content_source_header(&c->source)->order;
  if (capacity_choose(c->request->capacity_range, source_bytes, &size_bytes, err) < 0 ||
      capacity_check_objects(size_bytes, order, layout.features, err) < 0)
    return -1;
  if (c->source.kind == CONTENT_BLANK) {
    const struct image_request blank = {.name = c->image_name,
                                        .size_bytes = size_bytes,
                                        .layout = &layout,
                                        .describe = describe,
                                        .context = c};
    if (image_make(c->location, &blank, &id, err) < 0)
      return -1;
    answer_made(c, id, size_bytes, response);
    return 0;
  }
  unsigned depth;
  if (flattener_check_depth(c->controller->flattener, &c->source, &depth, err) < 0 ||
      content_source_clone(&c->source, c->location, c->image_name, &layout, err) < 0)
    return -1;
  if (directory_id_of(c->location, c->image_name, &id, err) < 0 ||
      finish_clone(c, id, size_bytes, response, err) < 0)
    return tell_lost(err);
  if (c->parameters.copy_mode != COPY_MODE_CLONE)
    flattener_add_if_deep(c->controller->flattener, c->location, id, depth);
  return 0;
}

/* A volume is there under this name: is it the one that is asked for? */
static int
accept_existing(struct creation *c, const struct found *found,
                Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  const struct header *header = &found->header;
  if (record_compare(&c->record, &header->metadata, err) < 0 ||
      capacity_check_existing(c->request->capacity_range, header->size_bytes, err) < 0)
    return error_wrap(err, "it exists already");
  if (found->state == FOUND_READY) {
    answer(c, found->id, header, response);
    return 0;
  }
  if (copy_all(c, found->id, err) < 0)
    return -1;
  return commit(c, found->id, header->size_bytes, true, response, err);
}

/* Whether the volume is there, and was answered; else its name is free now, unless somebody else
 * was quicker. */
static int
use_or_clear(struct creation *c, bool is_taken, Csi__V1__CreateVolumeResponse *response,
             bool *ret_is_answered, struct error **err)
{
  struct found found;
  int r = 0;
  if (look_patiently(c, &found, err) < 0)
    return -1;
  *ret_is_answered = found.state == FOUND_READY || found.state == FOUND_COPYING;
  if (*ret_is_answered)
    r = accept_existing(c, &found, response, err);
  else if (found.state == FOUND_UNFINISHED)
    r = unfinished_take_away(c->location, c->image_name, found.id,
                             found.has_header ? &found.header : NULL, RECORD_READY, err);
  else if (is_taken)
    r = directory_drop_stray_name(c->location, c->image_name, err);
  found_clear(&found);
  return r;
}

/* An attempt; *ret_is_answered is false when somebody else was in the way. */
static int
attempt(struct creation *c, bool is_taken, Csi__V1__CreateVolumeResponse *response,
        bool *ret_is_answered, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  *ret_is_answered = false;
  if (c->source.kind != CONTENT_BLANK || is_taken) {
    if (use_or_clear(c, is_taken, response, ret_is_answered, &failure) < 0) {
      bool goes_on = !*ret_is_answered && failure->code == ERROR_ABORTED;
      return goes_on ? 0 : error_set(err, failure->code, "%s", failure->message);
    }
    if (*ret_is_answered)
      return 0;
  }
  if (make(c, response, &failure) == 0) {
    *ret_is_answered = true;
    return 0;
  }
  if (failure->code == ERROR_ALREADY_EXISTS)
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}

static int
find_or_make(struct creation *c, Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  bool is_answered = false;
  for (int i = 0; i < ATTEMPTS && !is_answered; i++) {
    if (attempt(c, i > 0, response, &is_answered, err) < 0)
      return -1;
  }
  if (!is_answered)
    return error_set(err, ERROR_ABORTED, "its image is being made by somebody else: call again");
  return 0;
}

/* The source may be deleted once the volume is made, and before the caller has heard of it: asked
 * again, he must learn of the volume, or nobody would ever delete it. */
static int
find_without_source(struct creation *c, const struct error *missing,
                    Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  bool is_answered = false;
  if (missing->code == ERROR_NOT_FOUND && use_or_clear(c, false, response, &is_answered, err) < 0)
    return -1;
  return is_answered ? 0 : error_set(err, missing->code, "%s", missing->message);
}

/* The snapshot of the image that parameter 'imageSource' names. To be freed. */
static int
find_base(struct creation *c, char **ret_snapshot, struct error **err)
{
  struct string_map secrets = {0};
  PROTO_MAP_READ(&secrets, c->request->secrets, c->request->n_secrets);
  int r = base_images_get(c->controller->base_images, &c->parameters, &secrets, ret_snapshot, err);
  string_map_clear(&secrets);
  return r;
}

/* Parameter 'imageSource': what is there already is answered before the image is asked for, which
 * may have become another one meanwhile. Else a clone of it is made. */
static int
create_from_image(struct creation *c, Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  CLEANUP(freep) char *snapshot_id = NULL;
  bool is_answered = false;
  c->record = (struct record){.name = c->request->name, .source = "", .parameters = &c->parameters};
  if (use_or_clear(c, false, response, &is_answered, err) < 0)
    return -1;
  if (is_answered)
    return 0;
  if (find_base(c, &snapshot_id, err) < 0)
    return -1;
  Csi__V1__VolumeContentSource__SnapshotSource snapshot =
      CSI__V1__VOLUME_CONTENT_SOURCE__SNAPSHOT_SOURCE__INIT;
  Csi__V1__VolumeContentSource content = CSI__V1__VOLUME_CONTENT_SOURCE__INIT;
  snapshot.snapshot_id = snapshot_id;
  content.type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT;
  content.snapshot = &snapshot;
  if (content_source_open(c->controller, &content, &c->source, err) < 0)
    return -1;
  c->source.id = "";
  return find_or_make(c, response, err);
}

static int
create(struct creation *c, Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (parse_request(c, err) < 0)
    return -1;
  c->lock = controller_lock(c->controller, LOCK_VOLUME_NAME, c->request->name, KEYED_LOCK_EXCLUSIVE,
                            "CreateVolume", err);
  if (!c->lock || open_location(c, err) < 0 || check_elsewhere(c, err) < 0)
    return -1;
  if (c->parameters.image_source && !c->request->volume_content_source) {
    places_prepare(c->controller->places, c->location);
    return create_from_image(c, response, err);
  }
  if (open_source(c, &failure) < 0)
    return find_without_source(c, failure, response, err);
  places_prepare(c->controller->places, c->location);
  return find_or_make(c, response, err);
}

int
controller_create_volume(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
                         struct error **err)
{
  struct creation c = {.controller = context,
                       .request = (const Csi__V1__CreateVolumeRequest *)request,
                       .source.id = ""};
  int r = create(&c, (Csi__V1__CreateVolumeResponse *)response, err);
  if (r < 0)
    (void)error_wrap(err, "create volume '%.*s'", NAME_MAX_BYTES, c.request->name);
  creation_clear(&c);
  return r;
}
