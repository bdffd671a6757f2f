/* SPDX-License-Identifier: Apache-2.0 */
/* ControllerPublishVolume and ControllerUnpublishVolume: which node a volume is meant for.
 *
 * Nothing depends on it: RBD's own watchers and locks keep a second writer away (see
 * ARCHITECTURE.md), and the chart runs without the attacher. It is served for those who turn the
 * attacher on. The nodes stand in the image's metadata, imprint.node.<name>. */
#include <string.h>

#include "controllerplugin/controller.h"
#include "controllerplugin/volume.h"
#include "csi/volume/capability.h"
#include "csi/volume/node_id.h"
#include "csi/volume/record.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

static int
check_request(const Csi__V1__ControllerPublishVolumeRequest *request, struct error **err)
{
  if (!*request->volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_id is needed");
  if (!*request->node_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "node_id is needed");
  if (!request->volume_capability)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_capability is needed");
  if (capability_check(request->volume_capability, err) < 0)
    return error_wrap(err, "volume_capability");
  return 0;
}

/* Whether the volume may go to this node; *ret_is_done when it is there already. */
static int
check_nodes(const struct string_map *metadata, const char *node, const char *mode, bool is_shared,
            bool *ret_is_done, struct error **err)
{
  *ret_is_done = false;
  for (size_t i = 0; i < metadata->count; i++) {
    const struct string_map_entry *entry = &metadata->entries[i];
    if (!text_starts_with(entry->key, RECORD_NODE_PREFIX))
      continue;
    const char *other = entry->key + strlen(RECORD_NODE_PREFIX);
    if (strcmp(other, node) == 0) {
      if (strcmp(entry->value, mode) != 0)
        return error_set(err, ERROR_ALREADY_EXISTS,
                         "it is published to node '%s' as %s already, now %s is asked for", node,
                         entry->value, mode);
      *ret_is_done = true;
    } else if (!is_shared) {
      return error_set(err, ERROR_FAILED_PRECONDITION,
                       "it is published to node '%s', and its access mode allows one node only",
                       other);
    }
  }
  return 0;
}

static int
publish(struct controller *controller, const Csi__V1__ControllerPublishVolumeRequest *request,
        struct error **err)
{
  const char *node;
  struct volume volume;
  bool is_done;
  const char *mode = request->readonly ? "ro" : "rw";
  if (volume_find(controller, "volume_id", request->volume_id, &volume, err) < 0)
    return -1;
  int r = node_id_decode(request->node_id, &node, err);
  if (r == 0)
    r = check_nodes(&volume.header.metadata, node, mode,
                    capability_is_multi_node(request->volume_capability), &is_done, err);
  if (r == 0 && !is_done) {
    struct string_map set = {0};
    CLEANUP(freep) char *key = xasprintf(RECORD_NODE_PREFIX "%s", node);
    string_map_set(&set, key, mode);
    r = header_update_metadata(volume.location, volume.id.image_id, &set, NULL, err);
    string_map_clear(&set);
  }
  volume_clear(&volume);
  return r;
}

int
controller_publish_volume(void *context, const ProtobufCMessage *message,
                          ProtobufCMessage *response, struct error **err)
{
  (void)response;
  const Csi__V1__ControllerPublishVolumeRequest *request =
      (const Csi__V1__ControllerPublishVolumeRequest *)message;
  if (check_request(request, err) < 0)
    return -1;
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock = controller_lock(context, LOCK_CHANGE, request->volume_id,
                                            KEYED_LOCK_EXCLUSIVE, "ControllerPublishVolume", err);
  if (!lock)
    return -1;
  if (publish(context, request, err) < 0)
    return error_wrap(err, "publish volume '%.*s'", VOLUME_ID_MAX, request->volume_id);
  return 0;
}

/* node NULL: from all of them. */
static int
unpublish(struct volume *volume, const char *node, struct error **err)
{
  struct string_map remove = {0};
  const struct string_map *metadata = &volume->header.metadata;
  for (size_t i = 0; i < metadata->count; i++) {
    const char *key = metadata->entries[i].key;
    if (text_starts_with(key, RECORD_NODE_PREFIX) &&
        (!node || strcmp(key + strlen(RECORD_NODE_PREFIX), node) == 0))
      string_map_set(&remove, key, "");
  }
  int r = remove.count > 0
              ? header_update_metadata(volume->location, volume->id.image_id, NULL, &remove, err)
              : 0;
  string_map_clear(&remove);
  return r;
}

int
controller_unpublish_volume(void *context, const ProtobufCMessage *message,
                            ProtobufCMessage *response, struct error **err)
{
  (void)response;
  const Csi__V1__ControllerUnpublishVolumeRequest *request =
      (const Csi__V1__ControllerUnpublishVolumeRequest *)message;
  if (!*request->volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_id is needed");
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock = controller_lock(context, LOCK_CHANGE, request->volume_id,
                                            KEYED_LOCK_EXCLUSIVE, "ControllerUnpublishVolume", err);
  if (!lock)
    return -1;
  CLEANUP(error_freep) struct error *failure = NULL;
  struct volume volume;
  const char *node = NULL;
  if ((*request->node_id && node_id_decode(request->node_id, &node, &failure) < 0) ||
      volume_find(context, "volume_id", request->volume_id, &volume, &failure) < 0) {
    /* What does not exist is not published. */
    return failure->code == ERROR_NOT_FOUND ? 0
                                            : error_set(err, failure->code, "%s", failure->message);
  }
  int r = unpublish(&volume, node, err);
  volume_clear(&volume);
  return r < 0 ? error_wrap(err, "unpublish volume '%.*s'", VOLUME_ID_MAX, request->volume_id) : 0;
}
