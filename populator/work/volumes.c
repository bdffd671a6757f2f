/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/work/volumes.h"

#include <csi.pb-c.h>
#include <string.h>

#include "csi/volume/proto_map.h"
#include "lib/base/text.h"

#define TIMEOUT_MS 60000
#define PROBE_TIMEOUT_MS 3000
/* Parameters for the sidecars, not for the driver. */
#define SIDECAR_PREFIX "csi.storage.k8s.io/"

#define MODE(name) CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__##name

static void
response_freep(ProtobufCMessage **response)
{
  if (*response)
    protobuf_c_message_free_unpacked(*response, NULL);
}

static const struct {
  const char *name;
  Csi__V1__VolumeCapability__AccessMode__Mode mode;
} access_modes[] = {
    {"ReadWriteOnce", MODE(SINGLE_NODE_MULTI_WRITER)},
    {"ReadWriteOncePod", MODE(SINGLE_NODE_SINGLE_WRITER)},
    {"ReadOnlyMany", MODE(MULTI_NODE_READER_ONLY)},
    {"ReadWriteMany", MODE(MULTI_NODE_MULTI_WRITER)},
};

#define ACCESS_MODES (sizeof(access_modes) / sizeof(access_modes[0]))

/* What the claim asks for, as capabilities: one for each access mode. */
struct capabilities {
  Csi__V1__VolumeCapability__BlockVolume block;
  Csi__V1__VolumeCapability__MountVolume mount;
  Csi__V1__VolumeCapability__AccessMode modes[ACCESS_MODES];
  Csi__V1__VolumeCapability items[ACCESS_MODES];
  Csi__V1__VolumeCapability *list[ACCESS_MODES];
  size_t count;
};

static void
add_capability(struct capabilities *all, Csi__V1__VolumeCapability__AccessMode__Mode mode,
               bool is_block)
{
  size_t i = all->count++;
  csi__v1__volume_capability__access_mode__init(&all->modes[i]);
  all->modes[i].mode = mode;
  csi__v1__volume_capability__init(&all->items[i]);
  all->items[i].access_mode = &all->modes[i];
  all->items[i].access_type_case = is_block ? CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK
                                            : CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT;
  if (is_block)
    all->items[i].block = &all->block;
  else
    all->items[i].mount = &all->mount;
  all->list[i] = &all->items[i];
}

static bool
asks_for(struct json_object *modes, const char *name)
{
  for (size_t i = 0; i < json_count(modes); i++) {
    const char *mode = json_object_get_string(json_item(modes, i));
    if (mode && strcmp(mode, name) == 0)
      return true;
  }
  return false;
}

static void
capabilities_of(const struct volume_order *order, struct capabilities *all)
{
  struct json_object *spec = order->claim ? json_at(order->claim->json, "spec") : NULL;
  const char *volume_mode = json_text(spec, "volumeMode");
  const char *fs_type =
      json_text(order->storage_class->json, "parameters", SIDECAR_PREFIX "fstype");
  bool is_block = !order->claim || (volume_mode && strcmp(volume_mode, "Block") == 0);
  all->count = 0;
  csi__v1__volume_capability__block_volume__init(&all->block);
  csi__v1__volume_capability__mount_volume__init(&all->mount);
  all->mount.fs_type = (char *)(fs_type ? fs_type : "ext4");
  for (size_t i = 0; i < ACCESS_MODES; i++) {
    if (asks_for(json_at(spec, "accessModes"), access_modes[i].name))
      add_capability(all, access_modes[i].mode, is_block);
  }
  if (!order->claim)
    add_capability(all, MODE(SINGLE_NODE_MULTI_WRITER), is_block);
}

/* What volumes begin as that nobody fills; ours are filled. */
static bool
is_of_provisioner(const char *name)
{
  return strcmp(name, "imageSource") == 0 || strcmp(name, "imageEndpoint") == 0;
}

/* The parameters of the class, and what the provisioner would add: whose volume it is. */
static void
parameters_of(const struct volume_order *order, struct string_map *parameters)
{
  struct json_object *given = json_at(order->storage_class->json, "parameters");
  if (given) {
    json_object_object_foreach(given, name, value)
    {
      if (!text_starts_with(name, SIDECAR_PREFIX) && !is_of_provisioner(name) &&
          json_object_is_type(value, json_type_string))
        string_map_set(parameters, name, json_object_get_string(value));
    }
  }
  if (!order->claim)
    return;
  string_map_set(parameters, SIDECAR_PREFIX "pvc/name", order->claim->name);
  string_map_set(parameters, SIDECAR_PREFIX "pvc/namespace", order->claim->ns);
  string_map_set(parameters, SIDECAR_PREFIX "pv/name", order->name);
}

static void
limits_of(const struct volume_order *order, struct string_map *limits)
{
  struct json_object *given =
      order->attributes_class ? json_at(order->attributes_class->json, "parameters") : NULL;
  if (!given)
    return;
  json_object_object_foreach(given, name, value)
  {
    if (json_object_is_type(value, json_type_string))
      string_map_set(limits, name, json_object_get_string(value));
  }
}

/* What the volume is made of. */
struct content {
  Csi__V1__VolumeContentSource source;
  Csi__V1__VolumeContentSource__SnapshotSource snapshot;
  Csi__V1__VolumeContentSource__VolumeSource volume;
};

static void
content_of(const struct volume_order *order, struct content *content)
{
  csi__v1__volume_content_source__init(&content->source);
  csi__v1__volume_content_source__snapshot_source__init(&content->snapshot);
  csi__v1__volume_content_source__volume_source__init(&content->volume);
  if (order->snapshot) {
    content->snapshot.snapshot_id = (char *)order->snapshot;
    content->source.type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT;
    content->source.snapshot = &content->snapshot;
  } else if (order->volume) {
    content->volume.volume_id = (char *)order->volume;
    content->source.type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME;
    content->source.volume = &content->volume;
  }
}

static int
send_order(struct rpc_client *controller, const struct volume_order *order,
           const struct string_map *parameters, const struct string_map *limits,
           ProtobufCMessage **ret_response, struct error **err)
{
  struct capabilities capabilities;
  capabilities_of(order, &capabilities);
  Csi__V1__CapacityRange capacity = CSI__V1__CAPACITY_RANGE__INIT;
  capacity.required_bytes = (int64_t)order->bytes;
  struct content content;
  content_of(order, &content);
  Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
  request.name = (char *)order->name;
  request.capacity_range = &capacity;
  request.n_volume_capabilities = capabilities.count;
  request.volume_capabilities = capabilities.list;
  request.volume_content_source = order->snapshot || order->volume ? &content.source : NULL;
  PROTO_MAP_BORROW(&request, parameters, parameters, Csi__V1__CreateVolumeRequest__ParametersEntry,
                   CSI__V1__CREATE_VOLUME_REQUEST__PARAMETERS_ENTRY__INIT);
  PROTO_MAP_BORROW(&request, mutable_parameters, limits,
                   Csi__V1__CreateVolumeRequest__MutableParametersEntry,
                   CSI__V1__CREATE_VOLUME_REQUEST__MUTABLE_PARAMETERS_ENTRY__INIT);
  return rpc_client_call(controller, "/csi.v1.Controller/CreateVolume", &request.base,
                         &csi__v1__create_volume_response__descriptor, TIMEOUT_MS, ret_response,
                         err);
}

int
volumes_create(struct rpc_client *controller, const struct volume_order *order,
               struct made_volume *ret_volume, struct error **err)
{
  struct string_map parameters = {0};
  struct string_map limits = {0};
  CLEANUP(response_freep) ProtobufCMessage *response = NULL;
  parameters_of(order, &parameters);
  limits_of(order, &limits);
  int r = send_order(controller, order, &parameters, &limits, &response, err);
  string_map_clear(&parameters);
  string_map_clear(&limits);
  if (r < 0)
    return -1;
  const Csi__V1__Volume *volume = ((Csi__V1__CreateVolumeResponse *)response)->volume;
  if (!volume)
    return error_set(err, ERROR_INTERNAL, "CreateVolume: the answer has no volume");
  *ret_volume = (struct made_volume){.handle = xstrdup(volume->volume_id),
                                     .capacity_bytes = (uint64_t)volume->capacity_bytes};
  PROTO_MAP_READ(&ret_volume->context, volume->volume_context, volume->n_volume_context);
  return 0;
}

int
volumes_delete(struct rpc_client *controller, const char *handle, struct error **err)
{
  Csi__V1__DeleteVolumeRequest request = CSI__V1__DELETE_VOLUME_REQUEST__INIT;
  request.volume_id = (char *)handle;
  CLEANUP(response_freep) ProtobufCMessage *response = NULL;
  return rpc_client_call(controller, "/csi.v1.Controller/DeleteVolume", &request.base,
                         &csi__v1__delete_volume_response__descriptor, TIMEOUT_MS, &response, err);
}

int
volumes_snapshot(struct rpc_client *controller, const char *name, const char *handle,
                 char **ret_handle, struct error **err)
{
  Csi__V1__CreateSnapshotRequest request = CSI__V1__CREATE_SNAPSHOT_REQUEST__INIT;
  request.name = (char *)name;
  request.source_volume_id = (char *)handle;
  CLEANUP(response_freep) ProtobufCMessage *response = NULL;
  if (rpc_client_call(controller, "/csi.v1.Controller/CreateSnapshot", &request.base,
                      &csi__v1__create_snapshot_response__descriptor, TIMEOUT_MS, &response,
                      err) < 0)
    return -1;
  const Csi__V1__Snapshot *snapshot = ((Csi__V1__CreateSnapshotResponse *)response)->snapshot;
  if (!snapshot || !snapshot->ready_to_use)
    return error_set(err, ERROR_UNAVAILABLE, "CreateSnapshot: it is not ready yet");
  *ret_handle = xstrdup(snapshot->snapshot_id);
  return 0;
}

int
volumes_delete_snapshot(struct rpc_client *controller, const char *handle, struct error **err)
{
  Csi__V1__DeleteSnapshotRequest request = CSI__V1__DELETE_SNAPSHOT_REQUEST__INIT;
  request.snapshot_id = (char *)handle;
  CLEANUP(response_freep) ProtobufCMessage *response = NULL;
  return rpc_client_call(controller, "/csi.v1.Controller/DeleteSnapshot", &request.base,
                         &csi__v1__delete_snapshot_response__descriptor, TIMEOUT_MS, &response,
                         err);
}

int
volumes_probe(struct rpc_client *controller, struct error **err)
{
  Csi__V1__ProbeRequest request = CSI__V1__PROBE_REQUEST__INIT;
  CLEANUP(response_freep) ProtobufCMessage *response = NULL;
  if (rpc_client_call(controller, "/csi.v1.Identity/Probe", &request.base,
                      &csi__v1__probe_response__descriptor, PROBE_TIMEOUT_MS, &response, err) < 0)
    return error_wrap(err, "the controller plugin does not answer");
  return 0;
}
