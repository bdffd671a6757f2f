/* SPDX-License-Identifier: Apache-2.0 */
/* CreateVolume: reads the request, and finds where the volume is to be and what it starts from. The
 * image's name follows from the request's name. */
#include <string.h>

#include "controllerplugin/base_image.h"
#include "controllerplugin/creation.h"
#include "controllerplugin/places.h"
#include "csi/volume/capability.h"
#include "csi/volume/image_name.h"
#include "csi/volume/limits.h"
#include "csi/volume/proto_map.h"
#include "lib/base/memory.h"
#include "lib/ceph/directory.h"

/* CSI's limit for names. */
#define NAME_MAX_BYTES 128

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

/* The source may be deleted once the volume is made, and before the caller has heard of it: asked
 * again, he must learn of the volume, or nobody would ever delete it. */
static int
find_without_source(struct creation *c, const struct error *missing,
                    Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  bool is_answered = false;
  if (missing->code == ERROR_NOT_FOUND && creation_find(c, false, response, &is_answered, err) < 0)
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
  if (creation_find(c, false, response, &is_answered, err) < 0)
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
  CLEANUP(error_freep) struct error *failure = NULL;
  if (content_source_open(c->controller, &content, &c->source, &failure) < 0) {
    bool is_gone = failure->code == ERROR_NOT_FOUND; /* another process has removed it */
    if (is_gone)
      base_images_forget(c->controller->base_images, snapshot_id);
    return error_set(err, is_gone ? ERROR_UNAVAILABLE : failure->code, "%s%s", failure->message,
                     is_gone ? ": call again" : "");
  }
  c->source.id = "";
  return creation_find_or_make(c, response, err);
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
  return creation_find_or_make(c, response, err);
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
