/* SPDX-License-Identifier: Apache-2.0 */
/* CreateVolume.
 *
 * The image's name follows from the request's name. Making it takes several steps; the last one
 * writes the record that says so (csi/volume/record.h). Whoever finds an image without its record
 * finds the remains of a call that died: nobody was told of it, so it is removed and made anew.
 * Only a full copy that was begun is gone on with.
 *
 * A blank volume is made first and looked for only when its name turns out to be taken: the common
 * case costs one create, one read and one write. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* CSI's limit for names. */
#define NAME_MAX_BYTES 128
/* A name that is taken, cleaned up and taken again by someone else: give up and be called again. */
#define ATTEMPTS 3

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

enum found {
  FOUND_NOTHING,
  FOUND_READY,
  FOUND_COPYING,    /* a full copy, begun and not finished */
  FOUND_UNFINISHED, /* the remains of a call that died */
};

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

/* What there is under the name. *ret_id and *ret_header are set for FOUND_READY and FOUND_COPYING.
 */
static int
look(struct creation *c, enum found *ret_found, char **ret_id, struct header *ret_header,
     struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(freep) char *id = NULL;
  *ret_found = FOUND_NOTHING;
  int r = directory_id_of(c->location, c->image_name, &id, &failure);
  if (r == 0) {
    *ret_found = FOUND_UNFINISHED;
    r = header_read(c->location, id, ret_header, &failure);
  }
  if (r < 0) {
    if (failure->code == ERROR_NOT_FOUND)
      return 0;
    return error_set(err, failure->code, "%s", failure->message);
  }
  if (record_is_ready(&ret_header->metadata, id))
    *ret_found = FOUND_READY;
  else if (record_is_copying(&ret_header->metadata, id))
    *ret_found = FOUND_COPYING;
  if (*ret_found == FOUND_UNFINISHED)
    header_clear(ret_header);
  else
    *ret_id = TAKE(id);
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
  int r = header_update_metadata(c->location, image_id, &metadata, &inherited, err);
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
  int r = header_update_metadata(c->location, image_id, &record, &inherited, err);
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
  bool is_copy = c->parameters.copy_mode == COPY_MODE_CLONE;
  unsigned depth;
  if (flattener_check_depth(c->controller->flattener, &c->source, &depth, err) < 0 ||
      content_source_clone(&c->source, c->location, c->image_name, &layout, err) < 0 ||
      directory_id_of(c->location, c->image_name, &id, err) < 0)
    return -1;
  if (size_bytes > source_bytes && grow(c, id, size_bytes, err) < 0)
    return -1;
  if (is_copy && (begin_copy(c, id, err) < 0 || copy_all(c, id, err) < 0))
    return -1;
  if (commit(c, id, size_bytes, is_copy, response, err) < 0)
    return -1;
  if (!is_copy)
    flattener_add_if_deep(c->controller->flattener, c->location, id, depth);
  return 0;
}

/* A volume is there under this name: is it the one that is asked for? */
static int
accept_existing(struct creation *c, enum found found, const char *image_id,
                const struct header *header, Csi__V1__CreateVolumeResponse *response,
                struct error **err)
{
  if (record_compare(&c->record, &header->metadata, err) < 0 ||
      capacity_check_existing(c->request->capacity_range, header->size_bytes, err) < 0)
    return error_wrap(err, "it exists already");
  if (found == FOUND_READY) {
    answer(c, image_id, header, response);
    return 0;
  }
  if (copy_all(c, image_id, err) < 0)
    return -1;
  return commit(c, image_id, header->size_bytes, true, response, err);
}

/* Removes what a call that died has left. Nobody was told of it, so whoever still has it open is
 * that call's own client, which Ceph has not yet let go of, or one that is at it right now. */
static int
discard_remains(struct creation *c, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (image_discard(c->location, c->image_name, &failure) == 0)
    return 0;
  if (failure->code != ERROR_FAILED_PRECONDITION)
    return error_set(err, failure->code, "%s", failure->message);
  return error_set(
      err, ERROR_ABORTED,
      "what an earlier call left unfinished is still held by its Ceph client: call again");
}

/* Answers with what there is under the name, or removes the remains that are there. */
static int
settle(struct creation *c, enum found *ret_found, Csi__V1__CreateVolumeResponse *response,
       struct error **err)
{
  CLEANUP(freep) char *id = NULL;
  struct header header = {.parent.pool_id = -1};
  if (look(c, ret_found, &id, &header, err) < 0)
    return -1;
  if (*ret_found == FOUND_UNFINISHED)
    return discard_remains(c, err);
  if (*ret_found == FOUND_NOTHING)
    return 0;
  int r = accept_existing(c, *ret_found, id, &header, response, err);
  header_clear(&header);
  return r;
}

static bool
is_answered(enum found found)
{
  return found == FOUND_READY || found == FOUND_COPYING;
}

static int
find_or_make(struct creation *c, Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  enum found found = FOUND_NOTHING;
  bool has_looked = false;
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (c->source.kind != CONTENT_BLANK || has_looked) {
      if (settle(c, &found, response, err) < 0)
        return -1;
      if (is_answered(found))
        return 0;
      if (found == FOUND_NOTHING && has_looked &&
          directory_drop_stray_name(c->location, c->image_name, err) < 0)
        return -1;
    }
    CLEANUP(error_freep) struct error *failure = NULL;
    if (make(c, response, &failure) == 0)
      return 0;
    if (failure->code != ERROR_ALREADY_EXISTS)
      return error_set(err, failure->code, "%s", failure->message);
    has_looked = true; /* from now on: the name is taken */
  }
  return error_set(err, ERROR_ABORTED, "its image is being made by somebody else: call again");
}

/* The source may be deleted once the volume is made, and before the caller has heard of it: asked
 * again, he must learn of the volume, or nobody would ever delete it. */
static int
find_without_source(struct creation *c, const struct error *missing,
                    Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  enum found found = FOUND_NOTHING;
  if (missing->code == ERROR_NOT_FOUND && settle(c, &found, response, err) < 0)
    return -1;
  return is_answered(found) ? 0 : error_set(err, missing->code, "%s", missing->message);
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
