/* SPDX-License-Identifier: Apache-2.0 */
/* NodeExpandVolume: the device, and the filesystem on it, take the size that the image has. While
 * the volume is in use; doing it again is fine. How large the image is, the controller decides: the
 * answer tells it, whatever was asked for. */
#include <string.h>

#include "csi/volume/capability.h"
#include "lib/base/memory.h"
#include "nodeplugin/block_device.h"
#include "nodeplugin/filesystem.h"
#include "nodeplugin/published_path.h"
#include "nodeplugin/volume.h"

/* FUSE remembers a size for a second; a kernel client hears of a new one in milliseconds. */
#define SIZE_WAIT_MS 30000

struct growing {
  struct node *node;
  const struct published_path *path;
  uint64_t size_bytes;
};

static void
nudge(void *context)
{
  const struct growing *g = context;
  (void)g->path->mapping.mapper->resize(&g->node->env, &g->path->id, &g->path->mapping,
                                        g->size_bytes, NULL);
}

static int
grow(struct growing *g, struct error **err)
{
  const struct mapping *mapping = &g->path->mapping;
  if (!mapping->is_alive)
    return error_set(err, ERROR_FAILED_PRECONDITION, "what served its device '%s' has died",
                     mapping->device);
  uint64_t now_bytes;
  if (block_device_size(mapping->device, &now_bytes, err) < 0)
    return -1;
  if (now_bytes < g->size_bytes &&
      (mapping->mapper->resize(&g->node->env, &g->path->id, mapping, g->size_bytes, err) < 0 ||
       block_device_wait_size(mapping->device, g->size_bytes, SIZE_WAIT_MS, nudge, g, err) < 0))
    return -1;
  if (g->path->is_block || mapping->is_read_only)
    return 0;
  return filesystem_grow_mounted(mapping->device, g->path->fs_type, g->path->target.real, err);
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
  if (published_path_open(node, request->volume_id, request->volume_path,
                          request->staging_target_path, &path, err) < 0)
    return -1;
  struct growing g = {.node = node, .path = &path, .size_bytes = size_bytes};
  int r = grow(&g, err);
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
