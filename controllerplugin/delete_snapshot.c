/* SPDX-License-Identifier: Apache-2.0 */
/* DeleteSnapshot: a snapshot that clones stand on is moved to the image's own trash by RBD and
 * vanishes with the last of them, so it always succeeds at once.
 *
 * The claim on the name goes first: killed behind that, the repeated call still finds the snapshot
 * by its id, while the other way round nobody would know which claim to drop. When the volume
 * itself was deleted and this was its last snapshot, the image goes to the trash. */
#include "controllerplugin/controller.h"
#include "controllerplugin/purger.h"
#include "controllerplugin/volume.h"
#include "csi/volume/image_name.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/claim.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_snap.h"

static int
remove_snap(struct snapshot *snapshot, struct error **err)
{
  const char *image_id = snapshot->id.volume.image_id;
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(freep) char *claim = image_name_of_claim(snapshot->snap.name);
  CLEANUP(image_closep) struct image *image = NULL;
  if (claim_drop(snapshot->location, claim, image_id, err) < 0)
    return -1;
  if (image_open(snapshot->location, image_id, &image, &failure) == 0 &&
      image_snap_remove(image, snapshot->snap.id, &failure) == 0)
    return 0;
  /* Another controller deletes it at this moment, and was faster. */
  return failure->code == ERROR_NOT_FOUND ? 0
                                          : error_set(err, failure->code, "%s", failure->message);
}

/* Also when the snapshot was gone already: a call before this one may have died behind removing it.
 */
static int
bury_volume(struct controller *controller, const struct snapshot_id *id, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  CLEANUP(freep) char *name = NULL;
  if (volume_locate(controller, &id->volume, &location, &failure) < 0 ||
      directory_name_of(location, id->volume.image_id, &name, &failure) < 0 ||
      (text_starts_with(name, IMAGE_NAME_DELETED_PREFIX) &&
       purger_bury_if_free(controller->purger, location, id->volume.image_id, &failure) < 0)) {
    if (failure->code != ERROR_NOT_FOUND)
      return error_set(err, failure->code, "%s", failure->message);
  }
  return 0;
}

static int
delete_snapshot(struct controller *controller, const char *text, struct error **err)
{
  struct snapshot_id id;
  if (snapshot_id_decode(text, &id, NULL) < 0)
    return 0; /* we never gave such an id out: there is no such snapshot */
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock =
      controller_lock(controller, LOCK_CHANGE, text, KEYED_LOCK_EXCLUSIVE, "DeleteSnapshot", err);
  if (!lock)
    return -1;
  CLEANUP(error_freep) struct error *failure = NULL;
  struct snapshot snapshot;
  if (snapshot_find(controller, "snapshot_id", text, &snapshot, &failure) == 0) {
    int r = remove_snap(&snapshot, err);
    snapshot_clear(&snapshot);
    if (r < 0)
      return -1;
  } else if (failure->code != ERROR_NOT_FOUND) {
    return error_set(err, failure->code, "%s", failure->message);
  }
  return bury_volume(controller, &id, err);
}

int
controller_delete_snapshot(void *context, const ProtobufCMessage *message,
                           ProtobufCMessage *response, struct error **err)
{
  (void)response;
  const Csi__V1__DeleteSnapshotRequest *request = (const Csi__V1__DeleteSnapshotRequest *)message;
  if (!*request->snapshot_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "snapshot_id is needed");
  if (delete_snapshot(context, request->snapshot_id, err) < 0)
    return error_wrap(err, "delete snapshot '%.*s'", VOLUME_ID_MAX, request->snapshot_id);
  return 0;
}
