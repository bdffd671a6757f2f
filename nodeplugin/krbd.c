/* SPDX-License-Identifier: Apache-2.0 */
/* The mapper of the kernel's own RBD client, spoken to through /sys/bus/rbd. A device there tells
 * pool, namespace and image id itself, so nothing has to be written down. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/monitors.h"
#include "nodeplugin/block_device.h"
#include "nodeplugin/ceph_key.h"
#include "nodeplugin/mapper.h"
#include "nodeplugin/sys_call.h"
#include "nodeplugin/sysfs.h"

#define BUS "/sys/bus/rbd"
#define DEVICES BUS "/devices"
/* How long the kernel tries to reach the monitors, where nothing else is asked for. */
#define MOUNT_TIMEOUT_SECONDS 30
#define UNMAP_WAIT_MS 10000
#define PAUSE_MS 50

/* Left out: what names the cluster, the user, the key or the image; "ro", which the access mode
 * decides; "ip", which would lend the host's other addresses. */
static const struct option_rule map_rules[] = {
    {"queue_depth", OPTION_VALUE, NULL},
    {"alloc_size", OPTION_VALUE, NULL},
    {"lock_on_read", OPTION_FLAG, NULL},
    {"lock_timeout", OPTION_VALUE, NULL},
    {"exclusive", OPTION_FLAG, NULL},
    {"notrim", OPTION_FLAG, NULL},
    {"compression_hint", OPTION_VALUE, NULL},
    {"read_from_replica", OPTION_VALUE, NULL},
    {"crush_location", OPTION_VALUE, NULL},
    {"ms_mode", OPTION_VALUE, NULL},
    {"rxbounce", OPTION_FLAG, NULL},
    {"abort_on_full", OPTION_FLAG, NULL},
    {"noshare", OPTION_FLAG, NULL},
    {"crc", OPTION_FLAG, NULL},
    {"nocrc", OPTION_FLAG, NULL},
    {"cephx_require_signatures", OPTION_FLAG, NULL},
    {"nocephx_require_signatures", OPTION_FLAG, NULL},
    {"tcp_nodelay", OPTION_FLAG, NULL},
    {"notcp_nodelay", OPTION_FLAG, NULL},
    {"mount_timeout", OPTION_VALUE, "0"},
    {"osdkeepalive", OPTION_VALUE, NULL},
    {"osd_idle_ttl", OPTION_VALUE, NULL},
    {"osd_request_timeout", OPTION_VALUE, NULL},
    {NULL, OPTION_FLAG, NULL},
};

static const struct option_rule unmap_rules[] = {
    {"force", OPTION_FLAG, NULL},
    {NULL, OPTION_FLAG, NULL},
};

static bool
krbd_probe(const struct mapper_env *env, char *reason, size_t room)
{
  (void)env;
  bool is_there = access(BUS, F_OK) == 0;
  if (!is_there)
    (void)snprintf(reason, room, "the kernel module rbd is not loaded");
  return is_there;
}

static uint64_t
krbd_features(void)
{
  uint64_t features;
  return sysfs_read_u64(BUS, "supported_features", &features) == 0 ? features : 0;
}

/* Whether /sys/bus/rbd/devices/N is this volume's. The cluster's name is ours and not the kernel's:
 * image ids are random enough to tell clusters apart. */
static bool
is_of_volume(const char *folder, const struct volume_id *id)
{
  uint64_t pool_id;
  CLEANUP(freep) char *name_space = sysfs_read(folder, "pool_ns");
  return sysfs_read_u64(folder, "pool_id", &pool_id) == 0 && (int64_t)pool_id == id->pool_id &&
         strcmp(name_space ? name_space : "", id->name_space) == 0 &&
         sysfs_is(folder, "image_id", id->image_id) && sysfs_is(folder, "current_snap", "-");
}

/* The kernel's number of the volume's device, to be freed; NULL when there is none. */
static char *
find_number(const struct volume_id *id)
{
  struct sysfs_names names;
  char *number = NULL;
  sysfs_list(DEVICES, "", &names);
  for (size_t i = 0; i < names.count && !number; i++) {
    CLEANUP(freep) char *folder = xasprintf(DEVICES "/%s", names.items[i]);
    if (is_of_volume(folder, id))
      number = xstrdup(names.items[i]);
  }
  sysfs_names_clear(&names);
  return number;
}

static bool
krbd_find(const struct mapper_env *env, const struct volume_id *id, struct mapping *ret_mapping)
{
  (void)env;
  CLEANUP(freep) char *number = find_number(id);
  if (!number)
    return false;
  CLEANUP(freep) char *device = xasprintf("/dev/rbd%s", number);
  CLEANUP(freep) char *block = xasprintf("/sys/block/rbd%s", number);
  dev_t device_number;
  if (block_device_number(device, &device_number, NULL) < 0)
    return false;
  *ret_mapping = (struct mapping){.mapper = &krbd_mapper,
                                  .number = device_number,
                                  .is_read_only = sysfs_is(block, "ro", "1"),
                                  .is_alive = true,
                                  .device = TAKE(device)};
  return true;
}

static char *
krbd_client(const struct volume_id *id)
{
  CLEANUP(freep) char *number = find_number(id);
  CLEANUP(freep) char *folder = xasprintf(DEVICES "/%s", number ? number : "");
  return number ? sysfs_read(folder, "client_addr") : NULL;
}

/* The addresses of the protocol that the options ask for; v1 is what every kernel speaks. */
static int
choose_monitors(const struct map_request *request, char **ret_addresses, const char **ret_mode,
                struct error **err)
{
  struct cluster *cluster = request->location->cluster;
  const struct option_item *mode = option_list_find(request->options, "ms_mode");
  *ret_mode = "";
  if (mode)
    return monitors_addresses(cluster, strcmp(mode->value, "legacy") == 0 ? MONITOR_V1 : MONITOR_V2,
                              ret_addresses, err);
  CLEANUP(error_freep) struct error *failure = NULL;
  if (monitors_addresses(cluster, MONITOR_V1, ret_addresses, &failure) == 0)
    return 0;
  if (failure->code != ERROR_NOT_FOUND)
    return error_set(err, failure->code, "%s", failure->message);
  *ret_mode = ",ms_mode=prefer-crc";
  return monitors_addresses(cluster, MONITOR_V2, ret_addresses, err);
}

/* What the kernel takes: "MONITORS name=USER,key=NAME,OPTION… POOL IMAGE -"; to be freed. */
static char *
describe(const struct map_request *request, const char *monitors, const char *mode,
         const struct ceph_key *key)
{
  const struct location *location = request->location;
  CLEANUP(freep)
  char *options = xasprintf("name=%s,key=%s%s%s", location->cluster->config.user, key->name, mode,
                            request->is_read_only ? ",ro" : "");
  for (size_t i = 0; i < request->options->count; i++) {
    const struct option_item *item = &request->options->items[i];
    char *longer = xasprintf("%s,%s%s%s", options, item->name, item->value ? "=" : "",
                             item->value ? item->value : "");
    free(options);
    options = longer;
  }
  CLEANUP(freep)
  char *limit = option_list_find(request->options, "mount_timeout")
                    ? xstrdup("")
                    : xasprintf(",mount_timeout=%d", MOUNT_TIMEOUT_SECONDS);
  CLEANUP(freep)
  char *name_space =
      *location->name_space ? xasprintf(",_pool_ns=%s", location->name_space) : xstrdup("");
  return xasprintf("%s %s%s%s %s %s -", monitors, options, limit, name_space, location->pool,
                   request->image_name);
}

static int
refusal(int cause, const struct map_request *request, const char *monitors, struct error **err)
{
  const char *label = request->location->label;
  switch (cause) {
  case ETIMEDOUT:
  case EIO:
  case EHOSTUNREACH:
  case ECONNREFUSED:
    return error_set(err, ERROR_UNAVAILABLE,
                     "map '%s/%s': the kernel cannot reach the monitors at %s: %s", label,
                     request->image_name, monitors, strerror(cause));
  case ENXIO:
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "map '%s/%s': the kernel lacks a feature of the image (see its log)", label,
                     request->image_name);
  case EPERM:
  case EACCES:
    return error_set(err, ERROR_PERMISSION_DENIED,
                     "map '%s/%s': the cluster turns client.%s away, or this process may not map",
                     label, request->image_name, request->location->cluster->config.user);
  default:
    return error_set_errno(err, cause, "map '%s/%s'", label, request->image_name);
  }
}

static int
krbd_map(const struct mapper_env *env, const struct map_request *request,
         struct mapping *ret_mapping, struct error **err)
{
  if (krbd_find(env, request->id, ret_mapping))
    return 0;
  CLEANUP(freep) char *monitors = NULL;
  const char *mode;
  struct ceph_key key;
  if (choose_monitors(request, &monitors, &mode, err) < 0 ||
      ceph_key_load(&request->location->cluster->config, &key, err) < 0)
    return -1;
  CLEANUP(freep) char *text = describe(request, monitors, mode, &key);
  bool has_single_major = access(BUS "/add_single_major", F_OK) == 0;
  int cause = sysfs_write(has_single_major ? BUS "/add_single_major" : BUS "/add", text);
  ceph_key_unload(&key);
  if (cause != 0)
    return refusal(cause, request, monitors, err);
  if (!krbd_find(env, request->id, ret_mapping))
    return error_set(err, ERROR_UNAVAILABLE,
                     "map '%s/%s': the kernel has taken it and shows no device: call again",
                     request->location->label, request->image_name);
  return 0;
}

static int
krbd_unmap(const struct mapper_env *env, const struct volume_id *id, bool is_forced,
           struct error **err)
{
  (void)env;
  int64_t deadline_ms = clock_now_ms() + UNMAP_WAIT_MS;
  for (;;) {
    CLEANUP(freep) char *number = find_number(id);
    if (!number)
      return 0;
    CLEANUP(freep) char *text = xasprintf("%s%s", number, is_forced ? " force" : "");
    bool has_single_major = access(BUS "/remove_single_major", F_OK) == 0;
    int cause = sysfs_write(has_single_major ? BUS "/remove_single_major" : BUS "/remove", text);
    if (cause == 0 || cause == ENOENT)
      continue;
    if (cause != EBUSY && cause != EAGAIN)
      return error_set_errno(err, cause, "unmap '/dev/rbd%s'", number);
    if (clock_now_ms() > deadline_ms)
      return error_set(err, ERROR_FAILED_PRECONDITION,
                       "unmap '/dev/rbd%s': it is still open somewhere", number);
    (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
  }
}

/* The kernel hears of a new size by itself; this has it look at once. */
static int
krbd_resize(const struct mapper_env *env, const struct volume_id *id, const struct mapping *mapping,
            uint64_t size_bytes, struct error **err)
{
  (void)env, (void)mapping, (void)size_bytes;
  CLEANUP(freep) char *number = find_number(id);
  CLEANUP(freep) char *path = xasprintf(DEVICES "/%s/refresh", number ? number : "");
  int cause = sysfs_write(path, "1");
  return cause ? error_set_errno(err, cause, "write '%s'", path) : 0;
}

const struct mapper krbd_mapper = {
    .name = "krbd",
    .map_rules = map_rules,
    .unmap_rules = unmap_rules,
    .probe = krbd_probe,
    .features = krbd_features,
    .map = krbd_map,
    .find = krbd_find,
    .client = krbd_client,
    .unmap = krbd_unmap,
    .resize = krbd_resize,
};
