/* SPDX-License-Identifier: Apache-2.0 */
/* ControllerModifyVolume: limits on how fast the volume may be used (csi/volume/limits.h). They are
 * set through librbd, so that clients which have the volume open obey them from now on. */
#include "controllerplugin/controller.h"
#include "controllerplugin/volume.h"
#include "csi/volume/limits.h"
#include "csi/volume/proto_map.h"
#include "lib/ceph/image_change.h"

static int
apply(struct volume *volume, const struct string_map *limits, struct error **err)
{
  CLEANUP(image_closep) struct image *image = NULL;
  if (limits->count > 0 && image_open(volume->location, volume->id.image_id, &image, err) < 0)
    return -1;
  for (size_t i = 0; i < limits->count; i++) {
    if (image_set_metadata(image, limits->entries[i].key, limits->entries[i].value, err) < 0)
      return -1;
  }
  return 0;
}

static int
modify(struct controller *controller, const Csi__V1__ControllerModifyVolumeRequest *request,
       struct error **err)
{
  struct volume volume;
  struct string_map given = {0};
  struct string_map limits = {0};
  if (volume_find(controller, "volume_id", request->volume_id, &volume, err) < 0)
    return -1;
  PROTO_MAP_READ(&given, request->mutable_parameters, request->n_mutable_parameters);
  int r = limits_parse(&given, &limits, err);
  if (r == 0)
    r = apply(&volume, &limits, err);
  string_map_clear(&given);
  string_map_clear(&limits);
  volume_clear(&volume);
  return r;
}

int
controller_modify_volume(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                         struct error **err)
{
  (void)response;
  const Csi__V1__ControllerModifyVolumeRequest *request =
      (const Csi__V1__ControllerModifyVolumeRequest *)message;
  if (!*request->volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_id is needed");
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *stay = controller_lock(context, LOCK_VOLUME, request->volume_id,
                                            KEYED_LOCK_SHARED, "ControllerModifyVolume", err);
  if (!stay)
    return -1;
  if (modify(context, request, err) < 0)
    return error_wrap(err, "modify volume '%.*s'", VOLUME_ID_MAX, request->volume_id);
  return 0;
}
