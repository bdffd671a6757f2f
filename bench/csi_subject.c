/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/csi_subject.h"

#include <csi.pb-c.h>
#include <time.h>

#include "csi/rpc/client.h"
#include "csi/volume/proto_map.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"

#define FIRST_ANSWER_MS 30000
#define NOT_READY_PAUSE_MS 20

struct csi_subject {
  struct subject subject;
  struct rpc_client *client;
  const struct csi_classes *classes;
};

static void
response_freep(ProtobufCMessage **response)
{
  if (*response)
    protobuf_c_message_free_unpacked(*response, NULL);
}

/* One writer, block: what a virtual machine's disk is asked for with. */
struct disk_capability {
  Csi__V1__VolumeCapability capability;
  Csi__V1__VolumeCapability__BlockVolume block;
  Csi__V1__VolumeCapability__AccessMode mode;
};

static void
disk_capability_init(struct disk_capability *disk)
{
  csi__v1__volume_capability__init(&disk->capability);
  csi__v1__volume_capability__block_volume__init(&disk->block);
  csi__v1__volume_capability__access_mode__init(&disk->mode);
  disk->mode.mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
  disk->capability.access_mode = &disk->mode;
  disk->capability.access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
  disk->capability.block = &disk->block;
}

/* Where a volume's content comes from; strings are borrowed, though protobuf-c has no const. */
struct content {
  Csi__V1__VolumeContentSource source;
  Csi__V1__VolumeContentSource__SnapshotSource snapshot;
  Csi__V1__VolumeContentSource__VolumeSource volume;
};

static Csi__V1__VolumeContentSource *
content_init(struct content *content, const struct volume_request *request)
{
  csi__v1__volume_content_source__init(&content->source);
  switch (request->source) {
  case SOURCE_NONE:
    return NULL;
  case SOURCE_SNAPSHOT:
    csi__v1__volume_content_source__snapshot_source__init(&content->snapshot);
    content->snapshot.snapshot_id = (char *)request->source_id;
    content->source.type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT;
    content->source.snapshot = &content->snapshot;
    break;
  case SOURCE_VOLUME:
    csi__v1__volume_content_source__volume_source__init(&content->volume);
    content->volume.volume_id = (char *)request->source_id;
    content->source.type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME;
    content->source.volume = &content->volume;
    break;
  }
  return &content->source;
}

static int
call(struct subject *subject, const char *method, const ProtobufCMessage *request,
     const ProtobufCMessageDescriptor *response_type, int64_t timeout_ms,
     ProtobufCMessage **ret_response, struct error **err)
{
  struct csi_subject *self = (struct csi_subject *)subject;
  CLEANUP(freep) char *path = xasprintf("/csi.v1.Controller/%s", method);
  return rpc_client_call(self->client, path, request, response_type, timeout_ms, ret_response, err);
}

static int
create_volume(struct subject *subject, const struct volume_request *request, int64_t timeout_ms,
              char **ret_id, struct error **err)
{
  const struct csi_classes *classes = ((struct csi_subject *)subject)->classes;
  struct disk_capability disk;
  struct content content;
  disk_capability_init(&disk);
  Csi__V1__VolumeCapability *capabilities[] = {&disk.capability};
  Csi__V1__CapacityRange capacity = CSI__V1__CAPACITY_RANGE__INIT;
  capacity.required_bytes = (int64_t)request->size_bytes;
  Csi__V1__CreateVolumeRequest message = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
  message.name = (char *)request->name;
  message.capacity_range = &capacity;
  message.n_volume_capabilities = 1;
  message.volume_capabilities = capabilities;
  message.volume_content_source = content_init(&content, request);
  PROTO_MAP_BORROW(&message, parameters, &classes->parameters,
                   Csi__V1__CreateVolumeRequest__ParametersEntry,
                   CSI__V1__CREATE_VOLUME_REQUEST__PARAMETERS_ENTRY__INIT);
  PROTO_MAP_BORROW(&message, secrets, &classes->secrets, Csi__V1__CreateVolumeRequest__SecretsEntry,
                   CSI__V1__CREATE_VOLUME_REQUEST__SECRETS_ENTRY__INIT);
  CLEANUP(response_freep) ProtobufCMessage *response = NULL;
  if (call(subject, "CreateVolume", &message.base, &csi__v1__create_volume_response__descriptor,
           timeout_ms, &response, err) < 0)
    return -1;
  const Csi__V1__CreateVolumeResponse *answer = (Csi__V1__CreateVolumeResponse *)response;
  if (!answer->volume)
    return error_set(err, ERROR_INTERNAL, "CreateVolume: the answer has no volume");
  *ret_id = xstrdup(answer->volume->volume_id);
  return 0;
}

/* One call: *ret_is_ready tells whether the snapshot may be used yet. */
static int
ask_for_snapshot(struct subject *subject, const Csi__V1__CreateSnapshotRequest *message,
                 int64_t timeout_ms, bool *ret_is_ready, char **ret_id, struct error **err)
{
  CLEANUP(response_freep) ProtobufCMessage *response = NULL;
  if (call(subject, "CreateSnapshot", &message->base,
           &csi__v1__create_snapshot_response__descriptor, timeout_ms, &response, err) < 0)
    return -1;
  const Csi__V1__Snapshot *snapshot = ((Csi__V1__CreateSnapshotResponse *)response)->snapshot;
  if (!snapshot)
    return error_set(err, ERROR_INTERNAL, "CreateSnapshot: the answer has no snapshot");
  *ret_is_ready = snapshot->ready_to_use;
  if (snapshot->ready_to_use)
    *ret_id = xstrdup(snapshot->snapshot_id);
  return 0;
}

static int
create_snapshot(struct subject *subject, const char *name, const char *volume_id,
                int64_t timeout_ms, char **ret_id, struct error **err)
{
  const struct csi_classes *classes = ((struct csi_subject *)subject)->classes;
  int64_t deadline_ms = clock_now_ms() + timeout_ms;
  Csi__V1__CreateSnapshotRequest message = CSI__V1__CREATE_SNAPSHOT_REQUEST__INIT;
  message.name = (char *)name;
  message.source_volume_id = (char *)volume_id;
  PROTO_MAP_BORROW(&message, parameters, &classes->snapshot_parameters,
                   Csi__V1__CreateSnapshotRequest__ParametersEntry,
                   CSI__V1__CREATE_SNAPSHOT_REQUEST__PARAMETERS_ENTRY__INIT);
  PROTO_MAP_BORROW(&message, secrets, &classes->secrets,
                   Csi__V1__CreateSnapshotRequest__SecretsEntry,
                   CSI__V1__CREATE_SNAPSHOT_REQUEST__SECRETS_ENTRY__INIT);
  for (;;) {
    bool is_ready = false;
    int64_t left_ms = deadline_ms - clock_now_ms();
    if (ask_for_snapshot(subject, &message, left_ms > 1 ? left_ms : 1, &is_ready, ret_id, err) < 0)
      return -1;
    if (is_ready)
      return 0;
    struct timespec pause = clock_timespec_of_ms(NOT_READY_PAUSE_MS);
    (void)nanosleep(&pause, NULL);
  }
}

static int
expand_volume(struct subject *subject, const char *volume_id, uint64_t size_bytes,
              int64_t timeout_ms, struct error **err)
{
  const struct csi_classes *classes = ((struct csi_subject *)subject)->classes;
  struct disk_capability disk;
  disk_capability_init(&disk);
  Csi__V1__CapacityRange capacity = CSI__V1__CAPACITY_RANGE__INIT;
  capacity.required_bytes = (int64_t)size_bytes;
  Csi__V1__ControllerExpandVolumeRequest message = CSI__V1__CONTROLLER_EXPAND_VOLUME_REQUEST__INIT;
  message.volume_id = (char *)volume_id;
  message.capacity_range = &capacity;
  message.volume_capability = &disk.capability;
  PROTO_MAP_BORROW(&message, secrets, &classes->secrets,
                   Csi__V1__ControllerExpandVolumeRequest__SecretsEntry,
                   CSI__V1__CONTROLLER_EXPAND_VOLUME_REQUEST__SECRETS_ENTRY__INIT);
  CLEANUP(response_freep) ProtobufCMessage *response = NULL;
  return call(subject, "ControllerExpandVolume", &message.base,
              &csi__v1__controller_expand_volume_response__descriptor, timeout_ms, &response, err);
}

static int
delete_volume(struct subject *subject, const char *volume_id, int64_t timeout_ms,
              struct error **err)
{
  const struct csi_classes *classes = ((struct csi_subject *)subject)->classes;
  Csi__V1__DeleteVolumeRequest message = CSI__V1__DELETE_VOLUME_REQUEST__INIT;
  message.volume_id = (char *)volume_id;
  PROTO_MAP_BORROW(&message, secrets, &classes->secrets, Csi__V1__DeleteVolumeRequest__SecretsEntry,
                   CSI__V1__DELETE_VOLUME_REQUEST__SECRETS_ENTRY__INIT);
  CLEANUP(response_freep) ProtobufCMessage *response = NULL;
  return call(subject, "DeleteVolume", &message.base, &csi__v1__delete_volume_response__descriptor,
              timeout_ms, &response, err);
}

static int
delete_snapshot(struct subject *subject, const char *snapshot_id, int64_t timeout_ms,
                struct error **err)
{
  const struct csi_classes *classes = ((struct csi_subject *)subject)->classes;
  Csi__V1__DeleteSnapshotRequest message = CSI__V1__DELETE_SNAPSHOT_REQUEST__INIT;
  message.snapshot_id = (char *)snapshot_id;
  PROTO_MAP_BORROW(&message, secrets, &classes->secrets,
                   Csi__V1__DeleteSnapshotRequest__SecretsEntry,
                   CSI__V1__DELETE_SNAPSHOT_REQUEST__SECRETS_ENTRY__INIT);
  CLEANUP(response_freep) ProtobufCMessage *response = NULL;
  return call(subject, "DeleteSnapshot", &message.base,
              &csi__v1__delete_snapshot_response__descriptor, timeout_ms, &response, err);
}

static const struct subject_ops ops = {
    .create_volume = create_volume,
    .create_snapshot = create_snapshot,
    .expand_volume = expand_volume,
    .delete_volume = delete_volume,
    .delete_snapshot = delete_snapshot,
};

int
csi_subject_open(const char *endpoint, const struct csi_classes *classes,
                 struct subject **ret_subject, struct error **err)
{
  struct csi_subject *self = xcalloc(1, sizeof(*self));
  self->subject.ops = &ops;
  self->client = rpc_client_open(endpoint);
  self->classes = classes;
  CLEANUP(csi_subject_closep) struct subject *subject = &self->subject;
  CLEANUP(response_freep) ProtobufCMessage *response = NULL;
  Csi__V1__ProbeRequest probe = CSI__V1__PROBE_REQUEST__INIT;
  if (rpc_client_call(self->client, "/csi.v1.Identity/Probe", &probe.base,
                      &csi__v1__probe_response__descriptor, FIRST_ANSWER_MS, &response, err) < 0)
    return error_wrap(err, "endpoint '%s'", endpoint);
  *ret_subject = TAKE(subject);
  return 0;
}

void
csi_subject_close(struct subject *subject)
{
  if (!subject)
    return;
  rpc_client_close(((struct csi_subject *)subject)->client);
  free(subject);
}
