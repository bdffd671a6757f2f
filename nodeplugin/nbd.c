/* SPDX-License-Identifier: Apache-2.0 */
/* The mapper of rbd-nbd: a process a device (nbd_server.h) that serves the kernel's nbd through
 * librbd, with all that librbd can do (every feature, limits).
 *
 * The kernel keeps, with the device, a cookie that we give it: the volume's id. When the process
 * dies the kernel holds back the I/O for a while, and mapping it again starts another one for the
 * same device; neither a pod nor a filesystem notices more than a pause. */
#include "nodeplugin/nbd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "nodeplugin/block_device.h"
#include "nodeplugin/device_opener.h"
#include "nodeplugin/loop_device.h"
#include "nodeplugin/nbd_netlink.h"
#include "nodeplugin/nbd_server.h"
#include "nodeplugin/process_words.h"
#include "nodeplugin/sysfs.h"
#include "nodeplugin/tool.h"

#define START_WAIT_MS 60000
#define UNMAP_WAIT_MS 30000
#define FORCED_UNMAP_WAIT_MS 10000
#define PAUSE_MS 20
#define OPEN_WAIT_MS 3000
#define OPEN_PAUSE_MS 100

static const struct option_rule map_rules[] = {
    {"exclusive", OPTION_FLAG, NULL},   {"notrim", OPTION_FLAG, NULL},
    {"io-timeout", OPTION_VALUE, NULL}, {"reattach-timeout", OPTION_VALUE, NULL},
    {NULL, OPTION_FLAG, NULL},
};

static const struct option_rule unmap_rules[] = {
    {"force", OPTION_FLAG, NULL},
    {NULL, OPTION_FLAG, NULL},
};

static void
pause_ms(int64_t ms)
{
  (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static bool
nbd_probe(const struct mapper_env *env, char *reason, size_t room)
{
  (void)env;
  CLEANUP(freep) char *program = tool_find(NBD_SERVER_PROGRAM);
  const char *missing = access("/sys/module/nbd", F_OK) < 0 && access("/sys/block/nbd0", F_OK) < 0
                            ? "the kernel module nbd is not loaded"
                        : !program ? NBD_SERVER_PROGRAM " is not installed"
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

/* The cookie of /sys/block/nbdN, to be freed; NULL when it has none of ours. Kernels before 5.14
 * keep none: there the command line of the process tells it. */
static char *
read_cookie(const char *folder)
{
  CLEANUP(freep) char *cookie = sysfs_read(folder, "backend");
  if (cookie)
    return text_starts_with(cookie, NBD_COOKIE_PREFIX) ? TAKE(cookie) : NULL;
  CLEANUP(freep) char *pid = sysfs_read(folder, "pid");
  return pid ? process_words_find(pid, NBD_COOKIE_PREFIX) : NULL;
}

/* "nbd3" of the volume, to be freed; NULL when it has none. */
static char *
find_name(const struct volume_id *id)
{
  CLEANUP(freep) char *wanted = nbd_server_cookie(id);
  struct sysfs_names names;
  char *name = NULL;
  sysfs_list("/sys/block", "nbd", &names);
  for (size_t i = 0; i < names.count && !name; i++) {
    CLEANUP(freep) char *folder = xasprintf("/sys/block/%s", names.items[i]);
    CLEANUP(freep) char *cookie = read_cookie(folder);
    if (cookie && strcmp(cookie, wanted) == 0)
      name = xstrdup(names.items[i]);
  }
  sysfs_names_clear(&names);
  return name;
}

static bool
nbd_find(const struct mapper_env *env, const struct volume_id *id, struct mapping *ret_mapping)
{
  CLEANUP(freep) char *name = find_name(id);
  if (!name)
    return false;
  CLEANUP(freep) char *device = xasprintf("/dev/%s", name);
  CLEANUP(freep) char *folder = xasprintf("/sys/block/%s", name);
  dev_t number;
  if (block_device_number(device, &number, NULL) < 0)
    return false;
  *ret_mapping = (struct mapping){.mapper = &nbd_mapper,
                                  .number = number,
                                  .is_read_only = sysfs_is(folder, "ro", "1"),
                                  .is_alive = nbd_server_runs(env, id),
                                  .device = TAKE(device)};
  return true;
}

/* Until the device is there, served, and has its size. */
static int
wait_until_served(const struct mapper_env *env, const struct map_request *request,
                  struct subprocess *server, int log, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + START_WAIT_MS;
  for (;;) {
    int64_t began_ms = clock_now_ms();
    struct mapping mapping = {0};
    uint64_t size = 0;
    bool is_there = nbd_find(env, request->id, &mapping) && mapping.is_alive &&
                    block_device_size(mapping.device, &size, NULL) == 0 && size > 0;
    mapping_clear(&mapping);
    if (is_there)
      return 0;
    int status;
    bool has_ended = subprocess_wait(server, 0, &status, NULL) == 0;
    if (has_ended || clock_now_ms() > deadline_ms) {
      CLEANUP(freep) char *said = tool_say(log);
      return error_set(err, ERROR_UNAVAILABLE, NBD_SERVER_PROGRAM " %s: %s",
                       has_ended ? "ended" : "does not serve the device", said);
    }
    /* Looking must not take the processor from the one that is waited for. */
    pause_ms(PAUSE_MS + 2 * (clock_now_ms() - began_ms));
  }
}

static int
serve(const struct mapper_env *env, const struct map_request *request, const char *device,
      struct error **err)
{
  CLEANUP(closep) int log = memfd_create("rbd-nbd", MFD_CLOEXEC);
  CLEANUP(subprocess_freep) struct subprocess *server = NULL;
  if (log < 0)
    return error_set_errno(err, errno, "run " NBD_SERVER_PROGRAM);
  if (nbd_server_start(env, request, device, log, &server, err) < 0)
    return -1;
  return wait_until_served(env, request, server, log, err);
}

static int
nbd_map(const struct mapper_env *env, const struct map_request *request,
        struct mapping *ret_mapping, struct error **err)
{
  struct mapping mapping = {0};
  bool found = nbd_find(env, request->id, &mapping);
  int r = found && mapping.is_alive ? 0 : serve(env, request, found ? mapping.device : NULL, err);
  mapping_clear(&mapping);
  if (r < 0)
    return -1;
  if (!nbd_find(env, request->id, ret_mapping))
    return error_set(err, ERROR_UNAVAILABLE, "the nbd device of the volume vanished: call again");
  return 0;
}

static int
still_there(const char *device, struct error **err)
{
  if (device)
    return error_set(err, ERROR_FAILED_PRECONDITION, "unmap '%s': it is still in use", device);
  return error_set(err, ERROR_UNAVAILABLE,
                   NBD_SERVER_PROGRAM
                   " has not let go of the image: the cluster, or the way to it, "
                   "may be down; call again");
}

static int
disconnect(const char *device, struct error **err)
{
  const char *const argv[] = {NBD_SERVER_PROGRAM, "-c", "/dev/null", "unmap", device, NULL};
  return tool_run(argv, UNMAP_WAIT_MS, NULL, NULL, err);
}

/* The kernel would take the device away from below whoever has it open. Programs that look at every
 * device, as udev's do, have it open for a moment. */
static int
check_not_open(const struct volume_id *id, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + OPEN_WAIT_MS;
  CLEANUP(freep) char *cookie = nbd_server_cookie(id);
  CLEANUP(freep) char *name = find_name(id);
  CLEANUP(freep) char *device = name ? xasprintf("/dev/%s", name) : NULL;
  dev_t number;
  if (!device || block_device_number(device, &number, NULL) < 0)
    return 0;
  for (;;) {
    CLEANUP(freep) char *loop = loop_device_find(device);
    pid_t pid = loop ? 0 : device_opener_find(number, cookie);
    if (!loop && pid == 0)
      return 0;
    if (clock_now_ms() > deadline_ms)
      return loop ? error_set(err, ERROR_FAILED_PRECONDITION, "unmap '%s': '%s' is made of it",
                              device, loop)
                  : error_set(err, ERROR_FAILED_PRECONDITION, "unmap '%s': process %d has it open",
                              device, (int)pid);
    pause_ms(OPEN_PAUSE_MS);
  }
}

/* The process lets go of the image as it ends: only then is the volume free for other nodes. One
 * that a killed call has left may be just about to make its device. */
static int
nbd_unmap(const struct mapper_env *env, const struct volume_id *id, bool is_forced,
          struct error **err)
{
  if (!is_forced && check_not_open(id, err) < 0)
    return -1;
  int64_t deadline_ms = clock_now_ms() + (is_forced ? FORCED_UNMAP_WAIT_MS : UNMAP_WAIT_MS);
  for (;;) {
    CLEANUP(freep) char *name = find_name(id);
    CLEANUP(freep) char *device = name ? xasprintf("/dev/%s", name) : NULL;
    if (!device && !nbd_server_runs(env, id))
      break;
    if (clock_now_ms() > deadline_ms) {
      if (!is_forced)
        return still_there(device, err);
      nbd_server_kill(id);
      is_forced = false;
      deadline_ms = clock_now_ms() + FORCED_UNMAP_WAIT_MS;
    }
    if (device && disconnect(device, err) < 0)
      return -1;
    pause_ms(PAUSE_MS);
  }
  nbd_server_forget(env, id);
  return 0;
}

/* rbd-nbd hears of a new size by itself; where it cannot tell the kernel, we do. */
static int
nbd_resize(const struct mapper_env *env, const struct volume_id *id, const struct mapping *mapping,
           uint64_t size_bytes, struct error **err)
{
  (void)env;
  uint64_t index;
  CLEANUP(freep) char *cookie = nbd_server_cookie(id);
  if (text_to_u64(mapping->device + strlen("/dev/nbd"), 10, &index) < 0)
    return error_set(err, ERROR_INTERNAL, "'%s' is no nbd device", mapping->device);
  return nbd_netlink_resize((uint32_t)index, cookie, size_bytes, err);
}

void
nbd_list_orphans(const struct mapper_env *env, struct volume_id **ret_ids, size_t *ret_count)
{
  struct sysfs_names names;
  *ret_ids = NULL;
  *ret_count = 0;
  sysfs_list("/sys/block", "nbd", &names);
  for (size_t i = 0; i < names.count; i++) {
    CLEANUP(freep) char *folder = xasprintf("/sys/block/%s", names.items[i]);
    CLEANUP(freep) char *cookie = read_cookie(folder);
    struct volume_id id;
    if (!cookie || volume_id_decode(cookie + strlen(NBD_COOKIE_PREFIX), &id, NULL) < 0 ||
        nbd_server_runs(env, &id))
      continue;
    *ret_ids = xrealloc(*ret_ids, *ret_count + 1, sizeof(**ret_ids));
    (*ret_ids)[(*ret_count)++] = id;
  }
  sysfs_names_clear(&names);
}

const struct mapper nbd_mapper = {
    .name = "nbd",
    .map_rules = map_rules,
    .unmap_rules = unmap_rules,
    .probe = nbd_probe,
    .features = all_features,
    .map = nbd_map,
    .find = nbd_find,
    .unmap = nbd_unmap,
    .resize = nbd_resize,
};
