/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/inline_publish.h"

#include <string.h>

#include "csi/volume/capability.h"
#include "csi/volume/inline_request.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "nodeplugin/attach.h"
#include "nodeplugin/filesystem.h"
#include "nodeplugin/inline_collector.h"
#include "nodeplugin/inline_note.h"
#include "nodeplugin/inline_volume.h"
#include "nodeplugin/mapper_table.h"
#include "nodeplugin/mount_owner.h"
#include "nodeplugin/mounter.h"
#include "nodeplugin/stage_filesystem.h"

/* One call on its way. */
struct publishing {
  struct node *node;
  const Csi__V1__NodePublishVolumeRequest *request;
  struct inline_request wanted;
  struct target_path target;
  struct volume volume;
  struct mapping mapping;
};

/* Everything that can be refused before anything is done. */
static int
prepare(struct publishing *p, const struct string_map *context, struct error **err)
{
  const Csi__V1__VolumeCapability *capability = p->request->volume_capability;
  struct mount_options options;
  if (inline_request_parse(context, &p->wanted, err) < 0)
    return -1;
  if (*p->wanted.mapper && strcmp(p->wanted.mapper, MAPPER_AUTO) != 0 &&
      !mapper_by_name(p->wanted.mapper))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "volumeAttributes: 'mapper' is auto, krbd, nbd or fuse, not '%.64s'",
                     p->wanted.mapper);
  if (capability->access_type_case != CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT)
    return error_set(err, ERROR_INVALID_ARGUMENT, "an inline volume has a filesystem");
  const char *fs_type =
      *capability->mount->fs_type ? capability->mount->fs_type : FILESYSTEM_DEFAULT;
  if (mount_options_parse(fs_type, capability->mount->mount_flags, capability->mount->n_mount_flags,
                          "", &options, err) < 0)
    return -1;
  mount_options_clear(&options);
  return target_path_open(&p->node->kubelet_dir, "target_path", p->request->target_path, &p->target,
                          err);
}

/* A pod that only reads gets a filesystem mounted so. The device is writable all the same: a client
 * that may write watches its image, and that is how other nodes see that the volume is in use. */
static int
mount_for(struct publishing *p, struct error **err)
{
  const Csi__V1__VolumeCapability *capability = p->request->volume_capability;
  Csi__V1__VolumeCapability__MountVolume mount = *capability->mount;
  CLEANUP(freep) char **flags = xcalloc(mount.n_mount_flags + 1, sizeof(*flags));
  if (mount.n_mount_flags > 0)
    memcpy(flags, mount.mount_flags, mount.n_mount_flags * sizeof(*flags));
  mount.mount_flags = flags;
  if (p->request->readonly || capability_is_read_only(capability))
    flags[mount.n_mount_flags++] = (char *)"ro";
  return stage_filesystem(p->node, &p->volume, &p->mapping, &mount, &p->target, err);
}

/* The device, and its filesystem at the target. Each finds what an earlier call has done. */
static int
show(struct publishing *p, struct error **err)
{
  const struct attach_wish wish = {.others = ATTACH_ALONE};
  CLEANUP(freep) char *handle = volume_id_encode(&p->volume.id);
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock = node_lock(p->node, handle, "NodePublishVolume", err);
  bool is_new;
  if (!lock || attach_volume(p->node, &p->volume, &wish, &p->mapping, &is_new, err) < 0)
    return -1;
  return mount_for(p, err);
}

/* kubelet does not unpublish what was never published. What others have mounted at the target may
 * be why it was refused, and stays. */
static void
undo(struct publishing *p, const struct volume_id *id)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  bool is_ours = mount_owner_check(p->node, id, &p->target, NULL) == 0;
  if ((is_ours && mounter_unmount(&p->target, &failure) < 0) ||
      inline_volume_destroy(p->node, id, &failure) < 0) {
    log_warn("undo inline volume '%s', it is tried again: %s", p->request->volume_id,
             failure->message);
    return;
  }
  if (is_ours)
    (void)target_path_remove(&p->target, NULL);
  inline_note_remove(p->node, p->request->volume_id);
  inline_collector_kick(p->node->collector);
}

static int
publish(struct publishing *p, const struct string_map *context, struct error **err)
{
  if (prepare(p, context, err) < 0)
    return -1;
  const struct inline_order order = {
      .kubelet_id = p->request->volume_id, .target = p->target.real, .request = &p->wanted};
  bool is_new;
  if (inline_volume_make(p->node, &order, &p->volume, &is_new, err) < 0)
    return -1;
  if (show(p, err) == 0)
    return 0;
  mapping_clear(&p->mapping);
  if (is_new) /* an older one may be in use by the pod, or hold what it has written */
    undo(p, &p->volume.id);
  return -1;
}

int
inline_publish(struct node *node, const Csi__V1__NodePublishVolumeRequest *request,
               const struct string_map *context, struct error **err)
{
  struct publishing p = {.node = node, .request = request, .target.parent = -1};
  int r = publish(&p, context, err);
  mapping_clear(&p.mapping);
  volume_clear(&p.volume);
  target_path_clear(&p.target);
  inline_request_clear(&p.wanted);
  return r;
}

int
inline_unpublish(struct node *node, const char *kubelet_id, struct error **err)
{
  struct volume_id id;
  bool found;
  if (inline_volume_find(node, kubelet_id, &id, &found, err) < 0)
    return -1;
  if (!found)
    return 0;
  CLEANUP(freep) char *handle = volume_id_encode(&id);
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock = node_lock(node, handle, "NodeUnpublishVolume", err);
  if (!lock || inline_volume_destroy(node, &id, err) < 0)
    return -1;
  inline_note_remove(node, kubelet_id);
  inline_collector_kick(node->collector);
  return 0;
}
