/* SPDX-License-Identifier: Apache-2.0 */
/* The mapper for kernels without rbd and nbd: a daemon shows the image as a file over FUSE
 * (fuse_daemon.h, fuse_place.h); a loop device makes a block device of the file.
 *
 * A daemon that died takes the volume with it: a FUSE mount cannot be taken over. The volume is
 * abnormal until it is unstaged, and mapped anew by the next stage. */
#include <stdio.h>

#include "lib/base/memory.h"
#include "nodeplugin/block_device.h"
#include "nodeplugin/fuse_daemon.h"
#include "nodeplugin/loop_device.h"
#include "nodeplugin/qmp.h"
#include "nodeplugin/tool.h"

static bool
fuse_probe(const struct mapper_env *env, char *reason, size_t room)
{
  (void)env;
  CLEANUP(freep) char *program = tool_find(FUSE_DAEMON_PROGRAM);
  const char *missing = access("/dev/fuse", R_OK | W_OK) < 0 ? "the kernel has no /dev/fuse"
                        : !loop_device_is_available()        ? "the kernel has no /dev/loop-control"
                        : !program ? FUSE_DAEMON_PROGRAM " is not installed"
                                   : NULL;
  if (missing)
    (void)snprintf(reason, room, "%s", missing);
  return !missing;
}

static uint64_t
all_features(void)
{
  return UINT64_MAX; /* librbd's own */
}

static bool
fuse_find(const struct mapper_env *env, const struct volume_id *id, struct mapping *ret_mapping)
{
  struct fuse_place place;
  fuse_place_of(env, id, &place);
  dev_t number;
  CLEANUP(freep) char *device = loop_device_find(place.file);
  bool found = device && block_device_number(device, &number, NULL) == 0;
  if (found) {
    *ret_mapping = (struct mapping){.mapper = &fuse_mapper,
                                    .number = number,
                                    .is_read_only = loop_device_is_read_only(device),
                                    .is_alive = fuse_place_is_served(&place)};
    ret_mapping->device = TAKE(device);
  }
  fuse_place_clear(&place);
  return found;
}

static int
map_at(const struct mapper_env *env, const struct map_request *request,
       const struct fuse_place *place, struct error **err)
{
  if (fuse_place_prepare(env, place, err) < 0 || fuse_daemon_ensure(env, request, place, err) < 0)
    return -1;
  CLEANUP(freep) char *device = loop_device_find(place->file);
  return device ? 0 : loop_device_attach(place->file, request->is_read_only, &device, err);
}

static int
fuse_map(const struct mapper_env *env, const struct map_request *request,
         struct mapping *ret_mapping, struct error **err)
{
  struct fuse_place place;
  fuse_place_of(env, request->id, &place);
  int r = map_at(env, request, &place, err);
  fuse_place_clear(&place);
  if (r < 0)
    return -1;
  if (!fuse_find(env, request->id, ret_mapping))
    return error_set(err, ERROR_UNAVAILABLE, "the loop device of the volume vanished: call again");
  return 0;
}

static int
fuse_unmap(const struct mapper_env *env, const struct volume_id *id, bool is_forced,
           struct error **err)
{
  struct fuse_place place;
  fuse_place_of(env, id, &place);
  int r = 0;
  if (access(place.folder, F_OK) == 0) {
    CLEANUP(freep) char *device = loop_device_find(place.file);
    if (device)
      r = loop_device_detach(device, place.file, err);
    if (r == 0)
      r = fuse_daemon_stop(&place, is_forced, err);
    if (r == 0)
      r = fuse_place_clear_remains(&place, err);
    if (r == 0)
      r = fuse_place_remove(&place, err);
  }
  fuse_place_clear(&place);
  return r;
}

static int
fuse_resize(const struct mapper_env *env, const struct volume_id *id, const struct mapping *mapping,
            uint64_t size_bytes, struct error **err)
{
  struct fuse_place place;
  fuse_place_of(env, id, &place);
  CLEANUP(freep)
  char *arguments = xasprintf("{\"node-name\":\"" FUSE_DAEMON_NODE "\",\"size\":%llu}",
                              (unsigned long long)size_bytes);
  int r = qmp_command(place.socket, "block_resize", arguments, NULL, err);
  fuse_place_clear(&place);
  if (r == 0)
    loop_device_refresh(mapping->device);
  return r;
}

static const struct option_rule map_rules[] = {{NULL, OPTION_FLAG, NULL}};

static const struct option_rule unmap_rules[] = {
    {"force", OPTION_FLAG, NULL},
    {NULL, OPTION_FLAG, NULL},
};

const struct mapper fuse_mapper = {
    .name = "fuse",
    .map_rules = map_rules,
    .unmap_rules = unmap_rules,
    .probe = fuse_probe,
    .features = all_features,
    .map = fuse_map,
    .find = fuse_find,
    .unmap = fuse_unmap,
    .resize = fuse_resize,
};
