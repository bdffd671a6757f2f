/* SPDX-License-Identifier: Apache-2.0 */
/* ControllerExpandVolume. Never shrinks; a volume that is large enough already is fine as it is. */
#include "controllerplugin/controller.h"
#include "controllerplugin/flattener.h"
#include "controllerplugin/volume.h"
#include "csi/volume/capability.h"
#include "csi/volume/capacity.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/image_change.h"

static int
choose_size(const Csi__V1__CapacityRange *range, uint64_t now_bytes, uint64_t *ret_bytes,
            struct error **err)
{
  char a[TEXT_BYTES_MAX], b[TEXT_BYTES_MAX];
  if (!range || (range->required_bytes == 0 && range->limit_bytes == 0))
    return error_set(err, ERROR_INVALID_ARGUMENT, "capacity_range is needed");
  if (range->limit_bytes > 0 && (uint64_t)range->limit_bytes < now_bytes)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "it has %s, which is above capacity_range.limit_bytes %s, and cannot shrink",
                     text_of_bytes(now_bytes, a), text_of_bytes((uint64_t)range->limit_bytes, b));
  return capacity_choose(range, now_bytes, ret_bytes, err);
}

static int
grow(struct controller *controller, struct volume *volume, uint64_t size_bytes, struct error **err)
{
  CLEANUP(image_closep) struct image *image = NULL;
  CLEANUP(flattener_releasep) struct flattener_hold *hold = NULL;
  if (image_open(volume->location, volume->id.image_id, &image, err) < 0 ||
      flattener_hold(controller->flattener, volume, &hold, err) < 0)
    return -1;
  return image_grow(image, size_bytes, err);
}

static int
expand(struct controller *controller, const Csi__V1__ControllerExpandVolumeRequest *request,
       Csi__V1__ControllerExpandVolumeResponse *response, struct error **err)
{
  struct volume volume;
  uint64_t size_bytes;
  if (request->volume_capability && capability_check(request->volume_capability, err) < 0)
    return error_wrap(err, "volume_capability");
  if (!request->capacity_range)
    return error_set(err, ERROR_INVALID_ARGUMENT, "capacity_range is needed");
  if (volume_find(controller, "volume_id", request->volume_id, &volume, err) < 0)
    return -1;
  int r = choose_size(request->capacity_range, volume.header.size_bytes, &size_bytes, err);
  if (r == 0)
    r = capacity_check_objects(size_bytes, volume.header.order, volume.header.features, err);
  if (r == 0 && size_bytes > volume.header.size_bytes)
    r = grow(controller, &volume, size_bytes, err);
  volume_clear(&volume);
  if (r < 0)
    return -1;
  response->capacity_bytes = (int64_t)size_bytes;
  /* A filesystem has to be grown; a device may have to be told. The node plugin knows. */
  response->node_expansion_required = true;
  return 0;
}

int
controller_expand_volume(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                         struct error **err)
{
  const Csi__V1__ControllerExpandVolumeRequest *request =
      (const Csi__V1__ControllerExpandVolumeRequest *)message;
  if (!*request->volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_id is needed");
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *change = controller_lock(context, LOCK_CHANGE, request->volume_id,
                                              KEYED_LOCK_EXCLUSIVE, "ControllerExpandVolume", err);
  if (!change)
    return -1;
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *stay = controller_lock(context, LOCK_VOLUME, request->volume_id,
                                            KEYED_LOCK_SHARED, "ControllerExpandVolume", err);
  if (!stay)
    return -1;
  if (expand(context, request, (Csi__V1__ControllerExpandVolumeResponse *)response, err) < 0)
    return error_wrap(err, "expand volume '%.*s'", VOLUME_ID_MAX, request->volume_id);
  return 0;
}
