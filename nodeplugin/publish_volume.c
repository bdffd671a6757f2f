/* SPDX-License-Identifier: Apache-2.0 */
/* NodePublishVolume and NodeUnpublishVolume: what is staged appears at a pod's path. */
#include <string.h>
#include <sys/mount.h>

#include "csi/volume/capability.h"
#include "csi/volume/inline_request.h"
#include "csi/volume/proto_map.h"
#include "csi/volume/volume_id.h"
#include "lib/base/memory.h"
#include "nodeplugin/block_device.h"
#include "nodeplugin/device_use.h"
#include "nodeplugin/filesystem.h"
#include "nodeplugin/inline_note.h"
#include "nodeplugin/inline_publish.h"
#include "nodeplugin/mapper_table.h"
#include "nodeplugin/mount_owner.h"
#include "nodeplugin/mount_table.h"
#include "nodeplugin/mounter.h"
#include "nodeplugin/node.h"
#include "nodeplugin/read_only_view.h"

/* One call on its way. */
struct publishing {
  struct node *node;
  const Csi__V1__NodePublishVolumeRequest *request;
  struct volume_id id;
  struct mapping mapping;
  struct target_path staging;
  struct target_path target;
  struct mount_options options;
  bool is_read_only;
};

static bool
is_block(const Csi__V1__VolumeCapability *capability)
{
  return capability->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
}

static int
check_request(const Csi__V1__NodePublishVolumeRequest *request, struct error **err)
{
  if (!*request->volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_id is needed");
  if (!*request->target_path)
    return error_set(err, ERROR_INVALID_ARGUMENT, "target_path is needed");
  if (!request->volume_capability)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_capability is needed");
  if (capability_check(request->volume_capability, err) < 0)
    return error_wrap(err, "volume_capability");
  return 0;
}

static int
not_staged(struct error **err)
{
  return error_set(err, ERROR_FAILED_PRECONDITION, "it is not staged: NodeStageVolume comes first");
}

/* The device of the volume, which staging has made. */
static int
find_device(struct publishing *p, struct error **err)
{
  if (!*p->request->staging_target_path)
    return error_set(err, ERROR_FAILED_PRECONDITION, "staging_target_path is needed");
  if (volume_id_decode(p->request->volume_id, &p->id, err) < 0) {
    if (err)
      (*err)->code = ERROR_NOT_FOUND;
    return -1;
  }
  if (!mapper_find(&p->node->env, &p->id, &p->mapping))
    return not_staged(err);
  if (!p->mapping.is_alive)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "what served its device '%s' has died: unstage it and stage it anew",
                     p->mapping.device);
  return 0;
}

/* What is at the target: *ret_is_done when it is what is asked for. */
static int
look_at_target(const struct publishing *p, dev_t number, bool *ret_is_done, struct error **err)
{
  struct mount_table table;
  struct stat now;
  if (mount_table_read(&table, err) < 0)
    return -1;
  const struct mount_entry *there = mount_table_at(&table, p->target.real);
  bool is_ours = false, is_same_mode = false;
  if (there && is_block(p->request->volume_capability)) {
    is_ours = is_same_mode =
        target_path_stat(&p->target, &now) && S_ISBLK(now.st_mode) && now.st_rdev == number;
  } else if (there) {
    is_ours = there->device == number;
    is_same_mode = there->is_read_only == p->is_read_only;
  }
  bool lacks_option =
      is_ours && (p->options.attributes & MOUNT_TABLE_ATTRIBUTES & ~there->attributes);
  int r = 0;
  if (there && !is_ours)
    r = error_set(err, ERROR_ALREADY_EXISTS, "'%s' is mounted at '%s' already", there->source,
                  p->target.real);
  else if (is_ours && !is_same_mode)
    r = error_set(err, ERROR_ALREADY_EXISTS, "it is published at '%s' already, %s", p->target.real,
                  there->is_read_only ? "read-only" : "writable");
  else if (lacks_option)
    r = error_set(err, ERROR_ALREADY_EXISTS,
                  "it is published at '%s' already, without an option that is asked for now",
                  p->target.real);
  *ret_is_done = is_ours;
  mount_table_clear(&table);
  return r;
}

/* SINGLE_NODE_SINGLE_WRITER: at one target only. Asked only of a target that is new: kubelet itself
 * mounts what it was given elsewhere for the same pod, a disk below its plugins' folder and a
 * subPath beside the volume, and then calls again. */
static int
check_single_writer(const struct publishing *p, struct error **err)
{
  if (p->request->volume_capability->access_mode->mode !=
      CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_SINGLE_WRITER)
    return 0;
  CLEANUP(freep)
  char *staging = target_base_resolve(&p->node->kubelet_dir, p->request->staging_target_path);
  return device_use_check_single(&p->mapping, p->target.real, staging, err);
}

static int
publish_block(struct publishing *p, struct error **err)
{
  CLEANUP(freep) char *device = xstrdup(p->mapping.device);
  bool is_done;
  dev_t number;
  if (device_use_check_not_mounted(&p->mapping, err) < 0)
    return -1;
  if (p->is_read_only && !p->mapping.is_read_only) {
    free(device);
    device = NULL;
    if (read_only_view_make(p->mapping.device, &device, err) < 0)
      return -1;
  }
  if (block_device_number(device, &number, err) < 0 || look_at_target(p, number, &is_done, err) < 0)
    return -1;
  if (is_done)
    return 0;
  if (check_single_writer(p, err) < 0) {
    (void)read_only_view_remove(p->mapping.device, NULL); /* it may be of this call */
    return -1;
  }
  if (target_path_make_file(&p->target, err) < 0)
    return -1;
  return mounter_bind_device(device, &p->target, err);
}

/* The filesystem of the volume must be at the staging path, or something else would be published.
 */
static int
check_staging(const struct publishing *p, struct error **err)
{
  struct mount_table table;
  if (mount_table_read(&table, err) < 0)
    return -1;
  const struct mount_entry *there = mount_table_at(&table, p->staging.real);
  const char *asked = p->request->volume_capability->mount->fs_type;
  int r = !there || there->device != p->mapping.number ? not_staged(err)
          : *asked && strcmp(asked, there->type) != 0
              ? error_set(err, ERROR_FAILED_PRECONDITION, "it is staged as %s, and %s is asked for",
                          there->type, asked)
              : 0;
  mount_table_clear(&table);
  return r;
}

static int
publish_filesystem(struct publishing *p, struct error **err)
{
  bool is_done;
  if (target_path_open(&p->node->kubelet_dir, "staging_target_path",
                       p->request->staging_target_path, &p->staging, err) < 0 ||
      check_staging(p, err) < 0 || look_at_target(p, p->mapping.number, &is_done, err) < 0)
    return -1;
  if (is_done)
    return 0;
  if (check_single_writer(p, err) < 0 || target_path_make_folder(&p->target, err) < 0)
    return -1;
  return mounter_bind(&p->staging, &p->options, p->is_read_only, &p->target, err);
}

/* "ro" among the options asks for as much as the request's own field does. */
static int
read_options(struct publishing *p, struct error **err)
{
  const Csi__V1__VolumeCapability *capability = p->request->volume_capability;
  p->is_read_only = p->request->readonly || capability_is_read_only(capability);
  if (is_block(capability))
    return 0;
  const Csi__V1__VolumeCapability__MountVolume *mount = capability->mount;
  const char *fs_type = *mount->fs_type ? mount->fs_type : FILESYSTEM_DEFAULT;
  if (mount_options_parse(fs_type, mount->mount_flags, mount->n_mount_flags, "", &p->options, err) <
      0)
    return -1;
  p->is_read_only = p->is_read_only || option_list_find(&p->options.filesystem, "ro");
  return 0;
}

static int
publish(struct publishing *p, struct error **err)
{
  const Csi__V1__NodePublishVolumeRequest *request = p->request;
  if (target_path_open(&p->node->kubelet_dir, "target_path", request->target_path, &p->target,
                       err) < 0 ||
      read_options(p, err) < 0 || find_device(p, err) < 0)
    return -1;
  if (!p->is_read_only && p->mapping.is_read_only)
    return error_set(err, ERROR_FAILED_PRECONDITION, "it is staged read-only");
  return is_block(request->volume_capability) ? publish_block(p, err) : publish_filesystem(p, err);
}

static int
publish_staged(struct node *node, const Csi__V1__NodePublishVolumeRequest *request,
               struct error **err)
{
  struct publishing p = {
      .node = node, .request = request, .staging.parent = -1, .target.parent = -1};
  int r = publish(&p, err);
  mount_options_clear(&p.options);
  mapping_clear(&p.mapping);
  target_path_clear(&p.staging);
  target_path_clear(&p.target);
  return r;
}

int
node_publish_volume(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                    struct error **err)
{
  (void)response;
  const Csi__V1__NodePublishVolumeRequest *request =
      (const Csi__V1__NodePublishVolumeRequest *)message;
  if (check_request(request, err) < 0)
    return -1;
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock = node_lock(context, request->volume_id, "NodePublishVolume", err);
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *path_lock =
      lock ? node_lock_path(context, request->target_path, "NodePublishVolume", err) : NULL;
  if (!path_lock)
    return -1;
  struct string_map volume_context = {0};
  PROTO_MAP_READ(&volume_context, request->volume_context, request->n_volume_context);
  int r = inline_request_is_one(&volume_context)
              ? inline_publish(context, request, &volume_context, err)
              : publish_staged(context, request, err);
  string_map_clear(&volume_context);
  return r < 0 ? error_wrap(err, "publish volume '%.*s'", VOLUME_ID_MAX, request->volume_id) : 0;
}

static int
unpublish(struct node *node, const Csi__V1__NodeUnpublishVolumeRequest *request, struct error **err)
{
  struct target_path target;
  struct volume_id id;
  CLEANUP(error_freep) struct error *failure = NULL;
  bool is_handle = volume_id_decode(request->volume_id, &id, NULL) == 0;
  bool is_known = is_handle || inline_note_read(node, request->volume_id, &id);
  int r =
      target_path_open(&node->kubelet_dir, "target_path", request->target_path, &target, &failure);
  if (r < 0 && failure->code != ERROR_NOT_FOUND)
    return error_set(err, failure->code, "%s", failure->message);
  if (r == 0) {
    r = mount_owner_check(node, is_known ? &id : NULL, &target, err);
    if (r == 0)
      r = mounter_unmount(&target, err);
    if (r == 0)
      r = target_path_remove(&target, err);
    target_path_clear(&target);
    if (r < 0)
      return -1;
  }
  struct mapping mapping = {0};
  if (!is_handle)
    return inline_unpublish(node, request->volume_id, err); /* no handle of ours: kubelet's own */
  if (!mapper_find(&node->env, &id, &mapping))
    return 0;
  r = read_only_view_remove(mapping.device, err);
  mapping_clear(&mapping);
  return r;
}

int
node_unpublish_volume(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                      struct error **err)
{
  (void)response;
  const Csi__V1__NodeUnpublishVolumeRequest *request =
      (const Csi__V1__NodeUnpublishVolumeRequest *)message;
  if (!*request->volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_id is needed");
  if (!*request->target_path)
    return error_set(err, ERROR_INVALID_ARGUMENT, "target_path is needed");
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock = node_lock(context, request->volume_id, "NodeUnpublishVolume", err);
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *path_lock =
      lock ? node_lock_path(context, request->target_path, "NodeUnpublishVolume", err) : NULL;
  if (!path_lock)
    return -1;
  if (unpublish(context, request, err) < 0)
    return error_wrap(err, "unpublish volume '%.*s'", VOLUME_ID_MAX, request->volume_id);
  return 0;
}
