/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/capability.h"

#include <string.h>

#define MODE(name) CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__##name

/* What the node plugin formats and mounts; "" means its default. */
static const char *const filesystems[] = {"", "ext4", "xfs"};

static int
check_filesystem(const Csi__V1__VolumeCapability__MountVolume *mount, struct error **err)
{
  for (size_t i = 0; i < sizeof(filesystems) / sizeof(filesystems[0]); i++) {
    if (strcmp(mount->fs_type, filesystems[i]) == 0)
      return 0;
  }
  return error_set(err, ERROR_INVALID_ARGUMENT, "fs_type '%.32s' is not served: use ext4 or xfs",
                   mount->fs_type);
}

int
capability_check(const Csi__V1__VolumeCapability *capability, struct error **err)
{
  bool is_block = capability->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
  bool is_mount = capability->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT;
  if (!is_block && !is_mount)
    return error_set(err, ERROR_INVALID_ARGUMENT, "access_type is needed: block or mount");
  if (!capability->access_mode)
    return error_set(err, ERROR_INVALID_ARGUMENT, "access_mode is needed");
  switch (capability->access_mode->mode) {
  case MODE(SINGLE_NODE_WRITER):
  case MODE(SINGLE_NODE_READER_ONLY):
  case MODE(SINGLE_NODE_SINGLE_WRITER):
  case MODE(SINGLE_NODE_MULTI_WRITER):
  case MODE(MULTI_NODE_READER_ONLY):
    break;
  case MODE(MULTI_NODE_MULTI_WRITER):
    if (is_mount)
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "access mode MULTI_NODE_MULTI_WRITER (ReadWriteMany) is served for block "
                       "volumes only: a filesystem on RBD mounted on two nodes would be destroyed; "
                       "use volumeMode: Block");
    break;
  case MODE(MULTI_NODE_SINGLE_WRITER):
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "access mode MULTI_NODE_SINGLE_WRITER is not served: RBD cannot tell the one "
                     "writer from the readers");
  default:
    return error_set(err, ERROR_INVALID_ARGUMENT, "access mode %d is not known",
                     (int)capability->access_mode->mode);
  }
  return is_mount ? check_filesystem(capability->mount, err) : 0;
}

int
capabilities_check(Csi__V1__VolumeCapability *const *capabilities, size_t count, struct error **err)
{
  if (count == 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_capabilities is needed");
  for (size_t i = 0; i < count; i++) {
    if (capability_check(capabilities[i], err) < 0)
      return error_wrap(err, "volume_capabilities[%zu]", i);
  }
  return 0;
}

bool
capability_is_multi_node(const Csi__V1__VolumeCapability *capability)
{
  Csi__V1__VolumeCapability__AccessMode__Mode mode = capability->access_mode->mode;
  return mode == MODE(MULTI_NODE_READER_ONLY) || mode == MODE(MULTI_NODE_MULTI_WRITER);
}

bool
capability_is_read_only(const Csi__V1__VolumeCapability *capability)
{
  Csi__V1__VolumeCapability__AccessMode__Mode mode = capability->access_mode->mode;
  return mode == MODE(SINGLE_NODE_READER_ONLY) || mode == MODE(MULTI_NODE_READER_ONLY);
}
