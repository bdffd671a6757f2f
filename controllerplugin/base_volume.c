/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/base_volume.h"

#include "csi/volume/proto_map.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"

static void
unpacked_free(ProtobufCMessage *message)
{
  if (message)
    protobuf_c_message_free_unpacked(message, NULL);
}

static void
unpacked_freep(ProtobufCMessage **message)
{
  unpacked_free(*message);
}

/* An empty answer on the heap, as the RPC server hands to a handler. */
static ProtobufCMessage *
answer_new(const ProtobufCMessageDescriptor *type)
{
  return protobuf_c_message_unpack(type, NULL, 0, NULL);
}

int
base_volume_find(struct controller *controller, const struct string_map *parameters,
                 const char *name, uint64_t bytes, char **ret_handle, struct error **err)
{
  CLEANUP(unpacked_freep)
  ProtobufCMessage *answer = answer_new(&csi__v1__create_volume_response__descriptor);
  Csi__V1__VolumeCapability__BlockVolume block = CSI__V1__VOLUME_CAPABILITY__BLOCK_VOLUME__INIT;
  Csi__V1__VolumeCapability__AccessMode mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__INIT;
  Csi__V1__VolumeCapability capability = CSI__V1__VOLUME_CAPABILITY__INIT;
  Csi__V1__VolumeCapability *capabilities[] = {&capability};
  Csi__V1__CapacityRange capacity = CSI__V1__CAPACITY_RANGE__INIT;
  Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
  mode.mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
  capability.access_mode = &mode;
  capability.access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
  capability.block = &block;
  capacity.required_bytes = (int64_t)bytes;
  request.name = (char *)name;
  request.capacity_range = &capacity;
  request.volume_capabilities = capabilities;
  request.n_volume_capabilities = 1;
  PROTO_MAP_BORROW(&request, parameters, parameters, Csi__V1__CreateVolumeRequest__ParametersEntry,
                   CSI__V1__CREATE_VOLUME_REQUEST__PARAMETERS_ENTRY__INIT);
  if (controller_create_volume(controller, &request.base, answer, err) < 0)
    return -1;
  *ret_handle = xstrdup(((Csi__V1__CreateVolumeResponse *)answer)->volume->volume_id);
  return 0;
}

int
base_volume_snapshot(struct controller *controller, const char *handle, char **ret_snapshot,
                     struct error **err)
{
  CLEANUP(unpacked_freep)
  ProtobufCMessage *answer = answer_new(&csi__v1__list_snapshots_response__descriptor);
  Csi__V1__ListSnapshotsRequest request = CSI__V1__LIST_SNAPSHOTS_REQUEST__INIT;
  request.source_volume_id = (char *)handle;
  if (controller_list_snapshots(controller, &request.base, answer, err) < 0)
    return -1;
  const Csi__V1__ListSnapshotsResponse *list = (Csi__V1__ListSnapshotsResponse *)answer;
  *ret_snapshot = list->n_entries > 0 ? xstrdup(list->entries[0]->snapshot->snapshot_id) : NULL;
  return 0;
}

int
base_volume_take_snapshot(struct controller *controller, const char *name, const char *handle,
                          char **ret_snapshot, struct error **err)
{
  CLEANUP(unpacked_freep)
  ProtobufCMessage *answer = answer_new(&csi__v1__create_snapshot_response__descriptor);
  Csi__V1__CreateSnapshotRequest request = CSI__V1__CREATE_SNAPSHOT_REQUEST__INIT;
  request.name = (char *)name;
  request.source_volume_id = (char *)handle;
  if (controller_create_snapshot(controller, &request.base, answer, err) < 0)
    return -1;
  *ret_snapshot = xstrdup(((Csi__V1__CreateSnapshotResponse *)answer)->snapshot->snapshot_id);
  return 0;
}

void
base_volume_remove_snapshot(struct controller *controller, const char *snapshot)
{
  CLEANUP(unpacked_freep)
  ProtobufCMessage *answer = answer_new(&csi__v1__delete_snapshot_response__descriptor);
  Csi__V1__DeleteSnapshotRequest request = CSI__V1__DELETE_SNAPSHOT_REQUEST__INIT;
  CLEANUP(error_freep) struct error *failure = NULL;
  request.snapshot_id = (char *)snapshot;
  if (controller_delete_snapshot(controller, &request.base, answer, &failure) < 0)
    log_warn("base image '%s': %s", snapshot, failure->message);
}

void
base_volume_remove(struct controller *controller, const char *handle)
{
  CLEANUP(unpacked_freep)
  ProtobufCMessage *answer = answer_new(&csi__v1__delete_volume_response__descriptor);
  Csi__V1__DeleteVolumeRequest request = CSI__V1__DELETE_VOLUME_REQUEST__INIT;
  CLEANUP(error_freep) struct error *failure = NULL;
  request.volume_id = (char *)handle;
  if (controller_delete_volume(controller, &request.base, answer, &failure) < 0)
    log_warn("base image '%s': %s", handle, failure->message);
}
