/* SPDX-License-Identifier: Apache-2.0 */
/* DeleteVolume: answers at once, whatever still depends on the volume.
 *
 * A volume that nothing was made from goes to the trash. So does one that only clones stand on: RBD
 * keeps the snapshots they need. One that has CSI snapshots is renamed out of the way, because from
 * a snapshot in the trash nothing could be restored; it follows when the last snapshot is deleted.
 * The purger frees the space. */
#include "controllerplugin/controller.h"
#include "controllerplugin/flattener.h"
#include "controllerplugin/purger.h"
#include "controllerplugin/volume.h"
#include "csi/volume/image_name.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_clients.h"
#include "lib/ceph/trash.h"

static int
check_unused(struct location *location, const char *image_id, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct image_clients clients = {0};
  bool any = false;
  if (image_clients_any_other(location, image_id, &any, &failure) < 0 ||
      (any && image_clients_list(location, image_id, &clients, &failure) < 0)) {
    if (failure->code == ERROR_NOT_FOUND)
      return 0; /* half gone: a delete before this one was killed */
    return error_set(err, failure->code, "%s", failure->message);
  }
  uint64_t own_id = cluster_client_id(location->cluster);
  int r = 0;
  for (size_t i = 0; r == 0 && i < clients.count; i++) {
    if (clients.items[i].id != own_id)
      r = error_set(err, ERROR_FAILED_PRECONDITION,
                    "it is in use by the Ceph client at %s: unmap it there first",
                    clients.items[i].address);
  }
  image_clients_clear(&clients);
  return r;
}

/* Whether a snapshot stands on it that somebody may still restore from. */
static int
has_needed_snapshots(struct location *location, const char *image_id, bool *ret_has,
                     struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct snaps snaps;
  *ret_has = false;
  if (snapshots_read(location, image_id, &snaps, &failure) < 0)
    return failure->code == ERROR_NOT_FOUND ? 0
                                            : error_set(err, failure->code, "%s", failure->message);
  *ret_has = snapshots_are_needed(&snaps);
  snaps_clear(&snaps);
  return 0;
}

/* Renames it out of the way. Its last snapshot may have gone since we looked, and whoever deleted
 * that one saw the old name; or another controller deletes the volume at this moment, and was
 * faster. */
static int
set_aside(struct controller *controller, struct location *location, const char *image_id,
          const char *name, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(freep) char *deleted = image_name_of_deleted(image_id);
  if (directory_rename(location, name, deleted, image_id, &failure) == 0 &&
      purger_bury_if_free(controller->purger, location, image_id, &failure) == 0)
    return 0;
  return failure->code == ERROR_NOT_FOUND ? 0
                                          : error_set(err, failure->code, "%s", failure->message);
}

static int
delete_image(struct controller *controller, struct location *location, const char *image_id,
             const char *name, struct error **err)
{
  bool has_snapshots;
  flattener_cancel(controller->flattener, location, image_id);
  if (check_unused(location, image_id, err) < 0 ||
      has_needed_snapshots(location, image_id, &has_snapshots, err) < 0)
    return -1;
  if (has_snapshots)
    return set_aside(controller, location, image_id, name, err);
  if (trash_move(location, name, image_id, err) < 0)
    return -1;
  purger_kick(controller->purger, location);
  return 0;
}

static int
delete_volume(struct controller *controller, const char *text, struct error **err)
{
  struct volume_id id;
  if (volume_id_decode(text, &id, NULL) < 0)
    return 0; /* we never gave such an id out: there is no such volume */
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock =
      controller_lock(controller, LOCK_VOLUME, text, KEYED_LOCK_EXCLUSIVE, "DeleteVolume", err);
  if (!lock)
    return -1;
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  CLEANUP(freep) char *name = NULL;
  if (volume_locate(controller, &id, &location, &failure) < 0 ||
      directory_name_of(location, id.image_id, &name, &failure) < 0) {
    if (failure->code != ERROR_NOT_FOUND)
      return error_set(err, failure->code, "%s", failure->message);
    if (location)
      purger_kick(controller->purger, location); /* it may be in the trash, half moved */
    return 0;
  }
  if (!text_starts_with(name, IMAGE_NAME_VOLUME_PREFIX))
    return text_starts_with(name, IMAGE_NAME_DELETED_PREFIX)
               ? 0
               : error_set(err, ERROR_FAILED_PRECONDITION,
                           "image '%s/%s' was not made by this driver: it is left alone",
                           location->label, name);
  return delete_image(controller, location, id.image_id, name, err);
}

int
controller_delete_volume(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                         struct error **err)
{
  (void)response;
  const Csi__V1__DeleteVolumeRequest *request = (const Csi__V1__DeleteVolumeRequest *)message;
  if (!*request->volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_id is needed");
  if (delete_volume(context, request->volume_id, err) < 0)
    return error_wrap(err, "delete volume '%.*s'", VOLUME_ID_MAX, request->volume_id);
  return 0;
}
