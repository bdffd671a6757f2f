/* SPDX-License-Identifier: Apache-2.0 */
/* NodeStageVolume and NodeUnstageVolume: a volume becomes a device, and its filesystem is mounted
 * at the staging path. A block volume leaves nothing there: its device is found by the volume's id.
 *
 * Every step finds what an earlier call, perhaps a killed one, has done, and goes on from there.
 * Unstaging asks nobody but this node's kernel. */
#include <string.h>

#include "csi/volume/capability.h"
#include "csi/volume/proto_map.h"
#include "lib/base/memory.h"
#include "nodeplugin/attach.h"
#include "nodeplugin/blank_volume.h"
#include "nodeplugin/device_use.h"
#include "nodeplugin/filesystem.h"
#include "nodeplugin/mount_owner.h"
#include "nodeplugin/mounter.h"
#include "nodeplugin/stage_filesystem.h"

/* One call on its way. */
struct staging {
  struct node *node;
  const Csi__V1__NodeStageVolumeRequest *request;
  struct volume volume;
  struct target_path target;
  struct mapping mapping;
};

static int
check_request(const Csi__V1__NodeStageVolumeRequest *request, struct error **err)
{
  if (!*request->volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_id is needed");
  if (!*request->staging_target_path)
    return error_set(err, ERROR_INVALID_ARGUMENT, "staging_target_path is needed");
  if (!request->volume_capability)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_capability is needed");
  if (capability_check(request->volume_capability, err) < 0)
    return error_wrap(err, "volume_capability");
  return 0;
}

/* Everything that can be refused before anything is done. */
static int
prepare(struct staging *s, struct error **err)
{
  const Csi__V1__NodeStageVolumeRequest *request = s->request;
  struct string_map context = {0};
  if (target_path_open(&s->node->kubelet_dir, "staging_target_path", request->staging_target_path,
                       &s->target, err) < 0 ||
      volume_find(s->node, request->volume_id, &s->volume, err) < 0)
    return -1;
  PROTO_MAP_READ(&context, request->volume_context, request->n_volume_context);
  int r = volume_check_context(&s->volume, &context, err);
  string_map_clear(&context);
  if (r < 0 || !request->volume_capability->mount ||
      request->volume_capability->access_type_case != CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT)
    return r;
  const Csi__V1__VolumeCapability__MountVolume *mount = request->volume_capability->mount;
  struct mount_options options;
  const char *fs_type = *mount->fs_type ? mount->fs_type : FILESYSTEM_DEFAULT;
  if (mount_options_parse(fs_type, mount->mount_flags, mount->n_mount_flags, "", &options, err) < 0)
    return -1;
  mount_options_clear(&options);
  return 0;
}

/* There is nothing more to do than not to take what is there for something else. */
static int
stage_disk(const struct staging *s, struct error **err)
{
  if (device_use_check_not_mounted(&s->mapping, err) < 0) {
    if (err)
      (*err)->code = ERROR_ALREADY_EXISTS;
    return -1;
  }
  return s->mapping.is_read_only ? 0 : blank_volume_give_up(&s->volume, err);
}

static int
stage(struct staging *s, struct error **err)
{
  const Csi__V1__VolumeCapability *capability = s->request->volume_capability;
  bool is_read_only = capability_is_read_only(capability), is_new;
  if (prepare(s, err) < 0)
    return -1;
  const struct attach_wish wish = {.is_read_only = is_read_only,
                                   .others = !capability_is_multi_node(capability) ? ATTACH_ALONE
                                             : is_read_only ? ATTACH_WITH_READERS
                                                            : ATTACH_SHARED};
  if (attach_volume(s->node, &s->volume, &wish, &s->mapping, &is_new, err) < 0) {
    (void)detach_volume(s->node, &s->volume.id, NULL); /* what is half made, and in no use */
    return -1;
  }
  int r =
      capability->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK
          ? stage_disk(s, err)
          : stage_filesystem(s->node, &s->volume, &s->mapping, capability->mount, &s->target, err);
  if (r == 0)
    return 0;
  if (is_new) { /* kubelet may not unstage what was never staged */
    if (mount_owner_check(s->node, &s->volume.id, &s->target, NULL) == 0)
      (void)mounter_unmount(&s->target, NULL);
    (void)detach_volume(s->node, &s->volume.id, NULL);
  }
  return -1;
}

int
node_stage_volume(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                  struct error **err)
{
  (void)response;
  const Csi__V1__NodeStageVolumeRequest *request = (const Csi__V1__NodeStageVolumeRequest *)message;
  if (check_request(request, err) < 0)
    return -1;
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock = node_lock(context, request->volume_id, "NodeStageVolume", err);
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *path_lock =
      lock ? node_lock_path(context, request->staging_target_path, "NodeStageVolume", err) : NULL;
  if (!path_lock)
    return -1;
  struct staging s = {.node = context, .request = request, .target.parent = -1};
  int r = stage(&s, err);
  mapping_clear(&s.mapping);
  target_path_clear(&s.target);
  volume_clear(&s.volume);
  return r < 0 ? error_wrap(err, "stage volume '%.*s'", VOLUME_ID_MAX, request->volume_id) : 0;
}

static int
unstage(struct node *node, const Csi__V1__NodeUnstageVolumeRequest *request, struct error **err)
{
  struct volume_id id;
  struct target_path target;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (volume_id_decode(request->volume_id, &id, NULL) < 0)
    return 0; /* we never gave such an id out: it is not staged */
  if (target_path_open(&node->kubelet_dir, "staging_target_path", request->staging_target_path,
                       &target, &failure) == 0) {
    int r = mount_owner_check(node, &id, &target, err);
    if (r == 0)
      r = attach_check_unused(node, &id, target.real, err);
    if (r == 0)
      r = mounter_unmount(&target, err);
    target_path_clear(&target);
    if (r < 0)
      return -1;
  } else if (failure->code != ERROR_NOT_FOUND) {
    return error_set(err, failure->code, "%s", failure->message);
  }
  return detach_volume(node, &id, err);
}

int
node_unstage_volume(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                    struct error **err)
{
  (void)response;
  const Csi__V1__NodeUnstageVolumeRequest *request =
      (const Csi__V1__NodeUnstageVolumeRequest *)message;
  if (!*request->volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_id is needed");
  if (!*request->staging_target_path)
    return error_set(err, ERROR_INVALID_ARGUMENT, "staging_target_path is needed");
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock = node_lock(context, request->volume_id, "NodeUnstageVolume", err);
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *path_lock =
      lock ? node_lock_path(context, request->staging_target_path, "NodeUnstageVolume", err) : NULL;
  if (!path_lock)
    return -1;
  if (unstage(context, request, err) < 0)
    return error_wrap(err, "unstage volume '%.*s'", VOLUME_ID_MAX, request->volume_id);
  return 0;
}
