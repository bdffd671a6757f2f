/* SPDX-License-Identifier: Apache-2.0 */
/* ControllerGetVolume. */
#include "controllerplugin/controller.h"
#include "controllerplugin/published_nodes.h"
#include "controllerplugin/volume.h"
#include "lib/base/memory.h"

typedef Csi__V1__ControllerGetVolumeResponse__VolumeStatus status_message;

int
controller_get_volume(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                      struct error **err)
{
  const Csi__V1__ControllerGetVolumeRequest *request =
      (const Csi__V1__ControllerGetVolumeRequest *)message;
  Csi__V1__ControllerGetVolumeResponse *answer = (Csi__V1__ControllerGetVolumeResponse *)response;
  struct volume volume;
  if (volume_find(context, "volume_id", request->volume_id, &volume, err) < 0)
    return -1;
  answer->volume = volume_describe(&volume.id, &volume.header);
  status_message *status = xcalloc(1, sizeof(*status));
  csi__v1__controller_get_volume_response__volume_status__init(status);
  published_nodes(&volume.header.metadata, &status->published_node_ids,
                  &status->n_published_node_ids);
  answer->status = status;
  volume_clear(&volume);
  return 0;
}
