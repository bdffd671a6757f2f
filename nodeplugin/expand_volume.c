/* SPDX-License-Identifier: Apache-2.0 */
/* NodeExpandVolume: the device, and the filesystem on it, take the size that the image has. While
 * the volume is in use; doing it again is fine. How large the image is, the controller decides:
 * what else is asked for is refused. */
#include <string.h>

#include "csi/volume/capability.h"
#include "csi/volume/capacity.h"
#include "lib/base/memory.h"
#include "nodeplugin/device_size.h"
#include "nodeplugin/filesystem.h"
#include "nodeplugin/published_path.h"
#include "nodeplugin/volume.h"

static int
grow(struct node *node, const struct published_path *path, uint64_t size_bytes, struct error **err)
{
  const struct mapping *mapping = &path->mapping;
  if (!mapping->is_alive)
    return error_set(err, ERROR_FAILED_PRECONDITION, "what served its device '%s' has died",
                     mapping->device);
  if (device_size_follow(&node->env, &path->id, mapping, size_bytes, err) < 0)
    return -1;
  if (path->is_block || mapping->is_read_only)
    return 0;
  return filesystem_grow_mounted(mapping->device, path->fs_type,
                                 path->writable_at ? path->writable_at : path->target.real, err);
}

static int
check_range(const Csi__V1__CapacityRange *range, uint64_t size_bytes, struct error **err)
{
  if (capacity_check_existing(range, size_bytes, err) == 0)
    return 0;
  if (err && (*err)->code == ERROR_ALREADY_EXISTS)
    (*err)->code = ERROR_OUT_OF_RANGE;
  return error_wrap(err, "the controller makes images larger, not the node");
}

static int
expand(struct node *node, const Csi__V1__NodeExpandVolumeRequest *request,
       Csi__V1__NodeExpandVolumeResponse *response, struct error **err)
{
  struct volume volume;
  struct published_path path;
  if (volume_find(node, request->volume_id, &volume, err) < 0)
    return -1;
  uint64_t size_bytes = volume.header.size_bytes;
  volume_clear(&volume);
  if (check_range(request->capacity_range, size_bytes, err) < 0)
    return -1;
  if (published_path_open(node, request->volume_id, request->volume_path,
                          request->staging_target_path, &path, err) < 0)
    return -1;
  int r = grow(node, &path, size_bytes, err);
  published_path_clear(&path);
  if (r == 0)
    response->capacity_bytes = (int64_t)size_bytes;
  return r;
}

int
node_expand_volume(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                   struct error **err)
{
  const Csi__V1__NodeExpandVolumeRequest *request =
      (const Csi__V1__NodeExpandVolumeRequest *)message;
  if (!*request->volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_id is needed");
  if (!*request->volume_path)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_path is needed");
  if (request->volume_capability && capability_check(request->volume_capability, err) < 0)
    return error_wrap(err, "volume_capability");
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock = node_lock(context, request->volume_id, "NodeExpandVolume", err);
  if (!lock)
    return -1;
  if (expand(context, request, (Csi__V1__NodeExpandVolumeResponse *)response, err) < 0)
    return error_wrap(err, "expand volume '%.*s'", VOLUME_ID_MAX, request->volume_id);
  return 0;
}
