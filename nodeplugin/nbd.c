/* SPDX-License-Identifier: Apache-2.0 */
/* The mapper of rbd-nbd: a process a device that serves the kernel's nbd through librbd, with all
 * that librbd can do (every feature, limits).
 *
 * The process is in a session of its own and outlives this program. It holds a lock of the file
 * RUN_DIR/nbd.<image id>: that is how its life or death is told, because the kernel goes on telling
 * the pid of the first one when another has taken its place. The kernel keeps, with the device, a
 * cookie that we give it: the volume's id. When the process dies the kernel holds back
 * the I/O for a while, and nbd_reattach() starts another one for the same device; neither a pod nor
 * a filesystem notices more than a pause. */
#include "nodeplugin/nbd.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/subprocess.h"
#include "lib/base/text.h"
#include "nodeplugin/block_device.h"
#include "nodeplugin/ceph_conf.h"
#include "nodeplugin/helper_cgroup.h"
#include "nodeplugin/helper_lock.h"
#include "nodeplugin/nbd_netlink.h"
#include "nodeplugin/sys_call.h"
#include "nodeplugin/sysfs.h"
#include "nodeplugin/tool.h"

#define PROGRAM "rbd-nbd"
#define COOKIE_PREFIX "imprint:"
#define START_WAIT_MS 60000
#define UNMAP_WAIT_MS 30000
#define PAUSE_MS 20
/* I/O waits so long for a new process; the restart of a pod takes some seconds. */
#define REATTACH_SECONDS "120"

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

static void
pause_a_moment(void)
{
  pause_ms(PAUSE_MS);
}

static bool
nbd_probe(const struct mapper_env *env, char *reason, size_t room)
{
  (void)env;
  CLEANUP(freep) char *program = tool_find(PROGRAM);
  const char *missing = access("/sys/module/nbd", F_OK) < 0 && access("/sys/block/nbd0", F_OK) < 0
                            ? "the kernel module nbd is not loaded"
                        : !program ? PROGRAM " is not installed"
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
    return text_starts_with(cookie, COOKIE_PREFIX) ? TAKE(cookie) : NULL;
  CLEANUP(freep) char *pid = sysfs_read(folder, "pid");
  CLEANUP(freep) char *process = xasprintf("/proc/%s", pid ? pid : "none");
  CLEANUP(closep) int folder_fd = open(process, O_PATH | O_DIRECTORY | O_CLOEXEC);
  CLEANUP(closep)
  int fd = folder_fd < 0 ? -1 : openat(folder_fd, "cmdline", O_RDONLY | O_CLOEXEC);
  char words[4096];
  ssize_t len = fd < 0 ? 0 : read(fd, words, sizeof(words) - 1);
  words[len > 0 ? len : 0] = '\0';
  for (const char *word = words; len > 0 && word < words + len; word += strlen(word) + 1) {
    if (text_starts_with(word, COOKIE_PREFIX))
      return xstrdup(word);
  }
  return NULL;
}

/* "nbd3" of the volume, to be freed; NULL when it has none. */
static char *
find_name(const struct volume_id *id)
{
  CLEANUP(freep) char *text = volume_id_encode(id);
  CLEANUP(freep) char *wanted = xasprintf(COOKIE_PREFIX "%s", text);
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

/* The lock of the process that serves a volume, taken: there is none. -1 when there is one. */
static int
take_lock(const struct mapper_env *env, const struct volume_id *id)
{
  CLEANUP(freep) char *path = xasprintf("%s/nbd.%s", env->run_dir, id->image_id);
  return helper_lock_take(open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
}

static bool
is_served(const struct mapper_env *env, const struct volume_id *id)
{
  CLEANUP(closep) int fd = take_lock(env, id);
  return helper_lock_is_held(fd);
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
                                  .is_alive = is_served(env, id),
                                  .device = TAKE(device)};
  return true;
}

/* Room for all of its arguments. */
#define WORDS_MAX 32

/* device: one to take over, or NULL for a new one. */
static int
start(const struct mapper_env *env, const struct map_request *request, const char *device, int log,
      struct subprocess **ret_server, struct error **err)
{
  const struct location *location = request->location;
  CLEANUP(closep) int lock = take_lock(env, request->id); /* handed over */
  if (lock < 0)
    return error_set_errno(err, errno, "lock the volume for " PROGRAM);
  CLEANUP(freep) char *program = tool_find(PROGRAM);
  CLEANUP(freep) char *conf = NULL;
  if (!program)
    return error_set(err, ERROR_FAILED_PRECONDITION, PROGRAM " is not installed on this node");
  if (ceph_conf_write(env->run_dir, &location->cluster->config, &conf, err) < 0)
    return -1;
  CLEANUP(freep) char *text = volume_id_encode(request->id);
  CLEANUP(freep) char *cookie = xasprintf(COOKIE_PREFIX "%s", text);
  CLEANUP(freep)
  char *spec = xasprintf("%s/%s%s%s", location->pool, location->name_space,
                         *location->name_space ? "/" : "", request->image_name);
  const char *argv[WORDS_MAX] = {
      PROGRAM,         "-f",       "-c",  conf, "--id", location->cluster->config.user,
      "--try-netlink", "--cookie", cookie};
  char *made[WORDS_MAX] = {NULL};
  size_t count = 9, made_count = 0;
  if (request->is_read_only)
    argv[count++] = "--read-only";
  if (device) {
    argv[count++] = "--device";
    argv[count++] = device;
  }
  if (!option_list_find(request->options, "reattach-timeout")) {
    argv[count++] = "--reattach-timeout";
    argv[count++] = REATTACH_SECONDS;
  }
  for (size_t i = 0; i < request->options->count; i++) {
    const struct option_item *item = &request->options->items[i];
    argv[count++] = made[made_count++] = xasprintf("--%s", item->name);
    if (item->value)
      argv[count++] = item->value;
  }
  argv[count++] = device ? "attach" : "map";
  argv[count++] = spec;
  argv[count] = NULL;
  const char *const environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
  const struct subprocess_fd fds[] = {
      {.from = log, .to = 1}, {.from = log, .to = 2}, {.from = lock, .to = 3}};
  struct subprocess_options options = {.program = program,
                                       .argv = argv,
                                       .env = environment,
                                       .fds = fds,
                                       .fd_count = 3,
                                       .is_detached = true,
                                       .prepare = helper_cgroup_enter,
                                       .context = env->helpers};
  int r = SYS_CALL(subprocess_start(&options, ret_server, err));
  for (size_t i = 0; i < made_count; i++)
    free(made[i]);
  return r;
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
      return error_set(err, ERROR_UNAVAILABLE, PROGRAM " %s: %s",
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
    return error_set_errno(err, errno, "run " PROGRAM);
  if (start(env, request, device, log, &server, err) < 0)
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

/* The process lets go of the image as it ends: only then is the volume free for other nodes. */
static void
wait_for_end(const struct mapper_env *env, const struct volume_id *id, int64_t deadline_ms)
{
  CLEANUP(freep) char *lock = xasprintf("%s/nbd.%s", env->run_dir, id->image_id);
  if (access(lock, F_OK) < 0)
    return;
  while (is_served(env, id) && clock_now_ms() < deadline_ms)
    pause_a_moment();
  (void)SYS_CALL(unlink(lock));
}

static int
nbd_unmap(const struct mapper_env *env, const struct volume_id *id, bool is_forced,
          struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + UNMAP_WAIT_MS;
  for (;;) {
    CLEANUP(freep) char *name = find_name(id);
    if (!name) {
      wait_for_end(env, id, deadline_ms);
      return 0;
    }
    CLEANUP(freep) char *device = xasprintf("/dev/%s", name);
    const char *const argv[] = {PROGRAM, "-c", "/dev/null", "unmap", device, NULL};
    int status;
    CLEANUP(freep) char *output = NULL;
    if (tool_run(argv, is_forced ? UNMAP_WAIT_MS / 2 : UNMAP_WAIT_MS, &status, &output, err) < 0)
      return -1;
    CLEANUP(freep) char *left = find_name(id);
    if (left && clock_now_ms() > deadline_ms)
      return error_set(err, ERROR_FAILED_PRECONDITION, "unmap '%s': %s", device, output);
    pause_a_moment();
  }
}

/* rbd-nbd hears of a new size by itself; where it cannot tell the kernel, we do. */
static int
nbd_resize(const struct mapper_env *env, const struct volume_id *id, const struct mapping *mapping,
           uint64_t size_bytes, struct error **err)
{
  (void)env;
  uint64_t index;
  CLEANUP(freep) char *text = volume_id_encode(id);
  CLEANUP(freep) char *cookie = xasprintf(COOKIE_PREFIX "%s", text);
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
    if (!cookie || volume_id_decode(cookie + strlen(COOKIE_PREFIX), &id, NULL) < 0 ||
        is_served(env, &id))
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
