/* SPDX-License-Identifier: Apache-2.0 */
/* CreateSnapshot: an RBD snapshot of the volume.
 *
 * Its name must be unique for the driver, so it is claimed first (lib/ceph/claim.h). A claim whose
 * snapshot is not there is the remains of a call that died; whoever comes next goes on with it. */
#include <stdio.h>
#include <string.h>

#include "controllerplugin/controller.h"
#include "controllerplugin/flattener.h"
#include "controllerplugin/places.h"
#include "controllerplugin/volume.h"
#include "csi/volume/image_name.h"
#include "csi/volume/parameters.h"
#include "csi/volume/proto_map.h"
#include "lib/base/memory.h"
#include "lib/ceph/claim.h"
#include "lib/ceph/image_snap.h"

/* CSI's limit for names. */
#define NAME_MAX_BYTES 128

/* Whether the image has the snapshot that the claim is for. */
static int
has_snapshot(struct location *location, const char *image_id, const char *snap_name, bool *ret_has,
             struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct snaps snaps;
  *ret_has = false;
  if (snapshots_read(location, image_id, &snaps, &failure) < 0)
    return failure->code == ERROR_NOT_FOUND ? 0
                                            : error_set(err, failure->code, "%s", failure->message);
  *ret_has = snaps_find_name(&snaps, snap_name) != NULL;
  snaps_clear(&snaps);
  return 0;
}

/* *ret_is_new says whether nobody had the claim before. */
static int
claim_name(struct controller *controller, const struct volume *volume, const char *snap_name,
           bool *ret_is_new, struct error **err)
{
  CLEANUP(freep) char *claim = image_name_of_claim(snap_name);
  CLEANUP(freep)
  char *label = places_find_elsewhere(controller->places, volume->location, claim_find, claim);
  if (label)
    return error_set(
        err, ERROR_ALREADY_EXISTS,
        "it exists already: its source was a volume in '%s', now one in '%s' is asked for", label,
        volume->location->label);
  CLEANUP(freep) char *owner = NULL;
  if (claim_take(volume->location, claim, volume->id.image_id, &owner, err) < 0)
    return -1;
  *ret_is_new = !owner;
  if (!owner || strcmp(owner, volume->id.image_id) == 0)
    return 0;
  bool is_taken;
  if (has_snapshot(volume->location, owner, snap_name, &is_taken, err) < 0)
    return -1;
  if (!is_taken)
    return claim_pass(volume->location, claim, owner, volume->id.image_id, err);
  struct volume_id other = volume->id;
  (void)snprintf(other.image_id, sizeof(other.image_id), "%s", owner);
  CLEANUP(freep) char *other_id = volume_id_encode(&other);
  CLEANUP(freep) char *this_id = volume_id_encode(&volume->id);
  return error_set(err, ERROR_ALREADY_EXISTS,
                   "it exists already: its source was volume '%s', now '%s' is asked for", other_id,
                   this_id);
}

static int
take_snapshot(struct controller *controller, const struct volume *volume, const char *snap_name,
              uint64_t *ret_snap_id, struct error **err)
{
  CLEANUP(image_closep) struct image *image = NULL;
  CLEANUP(flattener_releasep) struct flattener_hold *hold = NULL;
  if (image_open(volume->location, volume->id.image_id, &image, err) < 0 ||
      flattener_hold(controller->flattener, volume, &hold, err) < 0)
    return -1;
  return image_snap_create(image, snap_name, ret_snap_id, err);
}

static int
create(struct controller *controller, struct volume *volume, const char *name,
       Csi__V1__CreateSnapshotResponse *response, struct error **err)
{
  CLEANUP(freep) char *snap_name = image_name_of_snapshot(name);
  bool is_new = false;
  uint64_t snap_id;
  struct snaps snaps;
  if (claim_name(controller, volume, snap_name, &is_new, err) < 0)
    return -1;
  if (take_snapshot(controller, volume, snap_name, &snap_id, err) < 0) {
    CLEANUP(freep) char *claim = image_name_of_claim(snap_name);
    if (is_new)
      (void)claim_drop(volume->location, claim, volume->id.image_id, NULL);
    return -1;
  }
  if (header_read_snaps(volume->location, volume->id.image_id, &snap_id, 1, &snaps, err) < 0)
    return -1;
  if (snaps.count == 1)
    response->snapshot = snapshot_describe(&volume->id, &snaps.items[0]);
  size_t count = snaps.count;
  snaps_clear(&snaps);
  return count == 1 ? 0 : error_set(err, ERROR_ABORTED, "it was deleted meanwhile: call again");
}

static int
check_request(const Csi__V1__CreateSnapshotRequest *request, struct error **err)
{
  if (!*request->name)
    return error_set(err, ERROR_INVALID_ARGUMENT, "name is needed");
  if (strlen(request->name) > NAME_MAX_BYTES)
    return error_set(err, ERROR_INVALID_ARGUMENT, "name has %zu bytes, CSI allows %d",
                     strlen(request->name), NAME_MAX_BYTES);
  struct string_map given = {0};
  PROTO_MAP_READ(&given, request->parameters, request->n_parameters);
  int r = snapshot_parameters_check(&given, err);
  string_map_clear(&given);
  return r;
}

/* The volume may be deleted once its snapshot is made, and before the caller has heard of it: asked
 * again, he must learn of the snapshot, or nobody would ever delete it. */
static int
find_of_deleted_volume(struct controller *controller, const Csi__V1__CreateSnapshotRequest *request,
                       const struct error *missing, Csi__V1__CreateSnapshotResponse *response,
                       struct error **err)
{
  CLEANUP(location_closep) struct location *location = NULL;
  CLEANUP(freep) char *snap_name = image_name_of_snapshot(request->name);
  struct volume_id id;
  struct snaps snaps;
  if (missing->code == ERROR_NOT_FOUND &&
      volume_id_decode(request->source_volume_id, &id, NULL) == 0 &&
      volume_locate(controller, &id, &location, NULL) == 0 &&
      snapshots_read(location, id.image_id, &snaps, NULL) == 0) {
    const struct snap *snap = snaps_find_name(&snaps, snap_name);
    if (snap && snapshot_is_ours(snap))
      response->snapshot = snapshot_describe(&id, snap);
    snaps_clear(&snaps);
  }
  return response->snapshot ? 0 : error_set(err, missing->code, "%s", missing->message);
}

static int
lock_and_create(struct controller *controller, const Csi__V1__CreateSnapshotRequest *request,
                Csi__V1__CreateSnapshotResponse *response, struct error **err)
{
  CLEANUP(keyed_lock_releasep) struct keyed_lock *name_lock = NULL;
  CLEANUP(keyed_lock_releasep) struct keyed_lock *volume_lock = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  struct volume volume;
  if (check_request(request, err) < 0)
    return -1;
  name_lock = controller_lock(controller, LOCK_SNAPSHOT_NAME, request->name, KEYED_LOCK_EXCLUSIVE,
                              "CreateSnapshot", err);
  if (!name_lock)
    return -1;
  if (*request->source_volume_id) {
    volume_lock = controller_lock(controller, LOCK_VOLUME, request->source_volume_id,
                                  KEYED_LOCK_SHARED, "CreateSnapshot of it", err);
    if (!volume_lock)
      return -1;
  }
  if (volume_find(controller, "source_volume_id", request->source_volume_id, &volume, &failure) < 0)
    return find_of_deleted_volume(controller, request, failure, response, err);
  int r = create(controller, &volume, request->name, response, err);
  volume_clear(&volume);
  return r;
}

int
controller_create_snapshot(void *context, const ProtobufCMessage *message,
                           ProtobufCMessage *response, struct error **err)
{
  const Csi__V1__CreateSnapshotRequest *request = (const Csi__V1__CreateSnapshotRequest *)message;
  if (lock_and_create(context, request, (Csi__V1__CreateSnapshotResponse *)response, err) < 0)
    return error_wrap(err, "create snapshot '%.*s'", NAME_MAX_BYTES, request->name);
  return 0;
}
