/* SPDX-License-Identifier: Apache-2.0 */
/* The mapper for kernels without rbd and nbd: qemu-storage-daemon opens the image through librbd
 * and shows it as one file over FUSE; a loop device makes a block device of the file.
 *
 * A daemon serves one volume, in a session of its own: it outlives a restart of this program. Its
 * folder, RUN_DIR/fuse/<hash of the volume's id>, holds
 *
 *   lock           held, as a lock of a file, by the daemon and nobody else: that is how its life
 *                  or death is told for sure
 *   qmp            its monitor socket; to end it, and to have it look at the image's size
 *   log            what it said
 *   <volume id>    the file that the image is shown as
 *
 * A daemon that died takes the volume with it: a FUSE mount cannot be taken over. The volume is
 * abnormal until it is unstaged, and mapped anew by the next stage. */
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "lib/base/subprocess.h"
#include "nodeplugin/block_device.h"
#include "nodeplugin/ceph_conf.h"
#include "nodeplugin/helper_cgroup.h"
#include "nodeplugin/helper_lock.h"
#include "nodeplugin/loop_device.h"
#include "nodeplugin/mapper.h"
#include "nodeplugin/mount_table.h"
#include "nodeplugin/qmp.h"
#include "nodeplugin/sys_call.h"
#include "nodeplugin/tool.h"

#define DAEMON "qemu-storage-daemon"
#define NODE_NAME "image"
#define START_WAIT_MS 30000
#define STOP_WAIT_MS 30000
#define KILL_WAIT_MS 5000
#define PAUSE_MS 20

/* Where a volume's things are. */
struct place {
  char *folder;
  char *file;
  char *socket;
};

static void
place_of(const struct mapper_env *env, const struct volume_id *id, struct place *ret_place)
{
  CLEANUP(freep) char *text = volume_id_encode(id);
  char hash[DIGEST_SHA256_HEX];
  digest_sha256_hex(text, strlen(text), hash);
  ret_place->folder = xasprintf("%s/fuse/%.16s", env->run_dir, hash);
  ret_place->file = xasprintf("%s/%s", ret_place->folder, text);
  ret_place->socket = xasprintf("%s/qmp", ret_place->folder);
}

static void
place_clear(struct place *place)
{
  free(place->folder);
  free(place->file);
  free(place->socket);
}

static void
pause_a_moment(void)
{
  (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
}

static int
open_in(const struct place *place, const char *name, int flags)
{
  CLEANUP(freep) char *path = xasprintf("%s/%s", place->folder, name);
  return open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* ---- the daemon ------------------------------------------------------------------------------ */

/* The lock, taken: the daemon does not run. -1 when it does, or there is no folder. */
static int
take_lock(const struct place *place)
{
  return helper_lock_take(open_in(place, "lock", O_RDWR | O_CREAT));
}

static bool
daemon_runs(const struct place *place)
{
  CLEANUP(closep) int fd = take_lock(place);
  return helper_lock_is_held(fd);
}

/* Whether the image is shown: the file is a mount of its own. */
static bool
is_shown(const struct place *place)
{
  struct mount_table table;
  if (mount_table_read(&table, NULL) < 0)
    return false;
  bool found = mount_table_at(&table, place->file) != NULL;
  mount_table_clear(&table);
  return found;
}

static char *
describe_image(const struct map_request *request, const char *conf)
{
  struct json_object *image = json_object_new_object();
  const struct {
    const char *name, *value;
  } texts[] = {{"driver", "rbd"},
               {"node-name", NODE_NAME},
               {"pool", request->location->pool},
               {"image", request->image_name},
               {"conf", conf},
               {"user", request->location->cluster->config.user},
               {"discard", "unmap"}};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
    json_object_object_add(image, texts[i].name, json_object_new_string(texts[i].value));
  if (*request->location->name_space)
    json_object_object_add(image, "namespace",
                           json_object_new_string(request->location->name_space));
  json_object_object_add(image, "read-only", json_object_new_boolean(request->is_read_only));
  char *text = xstrdup(json_object_to_json_string_ext(image, JSON_C_TO_STRING_PLAIN));
  json_object_put(image);
  return text;
}

static char *
describe_export(const struct map_request *request, const struct place *place)
{
  struct json_object *shown = json_object_new_object();
  json_object_object_add(shown, "type", json_object_new_string("fuse"));
  json_object_object_add(shown, "id", json_object_new_string("file"));
  json_object_object_add(shown, "node-name", json_object_new_string(NODE_NAME));
  json_object_object_add(shown, "mountpoint", json_object_new_string(place->file));
  json_object_object_add(shown, "writable", json_object_new_boolean(!request->is_read_only));
  json_object_object_add(shown, "allow-other", json_object_new_string("off"));
  char *text = xstrdup(json_object_to_json_string_ext(shown, JSON_C_TO_STRING_PLAIN));
  json_object_put(shown);
  return text;
}

/* lock: handed over to the daemon, which holds it from here. */
static int
start_daemon(const struct mapper_env *env, const struct map_request *request,
             const struct place *place, int lock, struct subprocess **ret_daemon,
             struct error **err)
{
  CLEANUP(freep) char *program = tool_find(DAEMON);
  CLEANUP(freep) char *conf = NULL;
  if (!program)
    return error_set(err, ERROR_FAILED_PRECONDITION, "%s is not installed on this node", DAEMON);
  if (ceph_conf_write(env->run_dir, &request->location->cluster->config, &conf, err) < 0)
    return -1;
  CLEANUP(freep) char *image = describe_image(request, conf);
  CLEANUP(freep) char *shown = describe_export(request, place);
  CLEANUP(freep)
  char *monitor = xasprintf("socket,id=qmp,path=%s,server=on,wait=off", place->socket);
  CLEANUP(closep) int log = open_in(place, "log", O_RDWR | O_CREAT | O_TRUNC | O_APPEND);
  if (log < 0)
    return error_set_errno(err, errno, "make the log of %s", DAEMON);
  const char *const argv[] = {DAEMON,       "--chardev", monitor,    "--monitor", "chardev=qmp",
                              "--blockdev", image,       "--export", shown,       NULL};
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
  return SYS_CALL(subprocess_start(&options, ret_daemon, err));
}

/* daemon may be NULL: one that an earlier process has started. */
static int
wait_until_shown(const struct place *place, struct subprocess *daemon, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + START_WAIT_MS;
  while (!is_shown(place)) {
    int status;
    bool has_ended = daemon ? subprocess_wait(daemon, 0, &status, NULL) == 0 : !daemon_runs(place);
    if (has_ended || clock_now_ms() > deadline_ms) {
      CLEANUP(closep) int log = open_in(place, "log", O_RDONLY);
      CLEANUP(freep) char *said = log >= 0 ? tool_say(log) : xstrdup("");
      return error_set(err, ERROR_UNAVAILABLE, "%s %s: %s", DAEMON,
                       has_ended ? "ended" : "does not show the image", said);
    }
    pause_a_moment();
  }
  return 0;
}

/* A folder and a file to show the image as. */
static int
prepare(const struct mapper_env *env, const struct place *place, struct error **err)
{
  CLEANUP(freep) char *parent = xasprintf("%s/fuse", env->run_dir);
  if ((SYS_CALL(mkdir(parent, 0700)) < 0 && errno != EEXIST) ||
      (SYS_CALL(mkdir(place->folder, 0700)) < 0 && errno != EEXIST))
    return error_set_errno(err, errno, "make folder '%s'", place->folder);
  if (is_shown(place))
    return 0;
  int fd = SYS_CALL(open(place->file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd < 0)
    return error_set_errno(err, errno, "make file '%s'", place->file);
  (void)close(fd);
  return 0;
}

/* What a daemon that died has left: a loop device on a dead file, a dead mount. */
static int
clear_remains(const struct place *place, struct error **err)
{
  char *device;
  while ((device = loop_device_find(place->file))) {
    int r = loop_device_detach(device, place->file, err);
    free(device);
    if (r < 0)
      return -1;
  }
  while (is_shown(place)) {
    if (SYS_CALL(umount2(place->file, MNT_DETACH)) < 0 && is_shown(place))
      return error_set_errno(err, errno, "unmount '%s'", place->file);
  }
  return 0;
}

static int
ensure_daemon(const struct mapper_env *env, const struct map_request *request,
              const struct place *place, struct error **err)
{
  CLEANUP(closep) int lock = take_lock(place);
  if (lock < 0) {
    if (errno != EWOULDBLOCK)
      return error_set_errno(err, errno, "lock '%s'", place->folder);
    return wait_until_shown(place, NULL, err);
  }
  if (clear_remains(place, err) < 0 || prepare(env, place, err) < 0)
    return -1;
  CLEANUP(subprocess_freep) struct subprocess *daemon = NULL;
  if (start_daemon(env, request, place, lock, &daemon, err) < 0)
    return -1;
  return wait_until_shown(place, daemon, err);
}

static bool
wait_until_gone(const struct place *place, int64_t timeout_ms)
{
  int64_t deadline_ms = clock_now_ms() + timeout_ms;
  while (daemon_runs(place)) {
    if (clock_now_ms() > deadline_ms)
      return false;
    pause_a_moment();
  }
  return true;
}

/* In order, so that it lets go of the image's lock; by force where it does not obey. */
static int
stop_daemon(const struct place *place, bool is_forced, struct error **err)
{
  if (!daemon_runs(place))
    return 0;
  pid_t pid = 0;
  int64_t deadline_ms = clock_now_ms() + KILL_WAIT_MS; /* it may be just about to start */
  while (qmp_command(place->socket, "quit", NULL, &pid, NULL) < 0 && pid == 0 &&
         daemon_runs(place) && clock_now_ms() < deadline_ms)
    pause_a_moment();
  if (wait_until_gone(place, is_forced ? KILL_WAIT_MS : STOP_WAIT_MS))
    return 0;
  if (pid > 0)
    (void)SYS_CALL(kill(pid, SIGKILL));
  if (wait_until_gone(place, KILL_WAIT_MS))
    return 0;
  return error_set(err, ERROR_UNAVAILABLE, "%s of '%s' (pid %d) does not end: call again", DAEMON,
                   place->file, (int)pid);
}

/* ---- the mapper ------------------------------------------------------------------------------ */

static bool
fuse_probe(const struct mapper_env *env, char *reason, size_t room)
{
  (void)env;
  CLEANUP(freep) char *program = tool_find(DAEMON);
  const char *missing = access("/dev/fuse", R_OK | W_OK) < 0 ? "the kernel has no /dev/fuse"
                        : !loop_device_is_available()        ? "the kernel has no /dev/loop-control"
                        : !program                           ? DAEMON " is not installed"
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
  struct place place;
  place_of(env, id, &place);
  dev_t number;
  CLEANUP(freep) char *device = loop_device_find(place.file);
  bool found = device && block_device_number(device, &number, NULL) == 0;
  if (found) {
    *ret_mapping = (struct mapping){.mapper = &fuse_mapper,
                                    .number = number,
                                    .is_read_only = loop_device_is_read_only(device),
                                    .is_alive = daemon_runs(&place)};
    ret_mapping->device = TAKE(device);
  }
  place_clear(&place);
  return found;
}

static int
map_at(const struct mapper_env *env, const struct map_request *request, const struct place *place,
       struct error **err)
{
  if (prepare(env, place, err) < 0 || ensure_daemon(env, request, place, err) < 0)
    return -1;
  CLEANUP(freep) char *device = loop_device_find(place->file);
  return device ? 0 : loop_device_attach(place->file, request->is_read_only, &device, err);
}

static int
fuse_map(const struct mapper_env *env, const struct map_request *request,
         struct mapping *ret_mapping, struct error **err)
{
  struct place place;
  place_of(env, request->id, &place);
  int r = map_at(env, request, &place, err);
  place_clear(&place);
  if (r < 0)
    return -1;
  if (!fuse_find(env, request->id, ret_mapping))
    return error_set(err, ERROR_UNAVAILABLE, "the loop device of the volume vanished: call again");
  return 0;
}

static int
remove_place(const struct place *place, struct error **err)
{
  static const char *const names[] = {"qmp", "log", "lock"};
  if (SYS_CALL(unlink(place->file)) < 0 && errno != ENOENT)
    return error_set_errno(err, errno, "remove '%s'", place->file);
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    CLEANUP(freep) char *path = xasprintf("%s/%s", place->folder, names[i]);
    (void)SYS_CALL(unlink(path));
  }
  if (SYS_CALL(rmdir(place->folder)) < 0 && errno != ENOENT)
    return error_set_errno(err, errno, "remove '%s'", place->folder);
  return 0;
}

static int
fuse_unmap(const struct mapper_env *env, const struct volume_id *id, bool is_forced,
           struct error **err)
{
  struct place place;
  place_of(env, id, &place);
  int r = 0;
  if (access(place.folder, F_OK) == 0) {
    CLEANUP(freep) char *device = loop_device_find(place.file);
    if (device)
      r = loop_device_detach(device, place.file, err);
    if (r == 0)
      r = stop_daemon(&place, is_forced, err);
    if (r == 0)
      r = clear_remains(&place, err);
    if (r == 0)
      r = remove_place(&place, err);
  }
  place_clear(&place);
  return r;
}

static int
fuse_resize(const struct mapper_env *env, const struct volume_id *id, const struct mapping *mapping,
            uint64_t size_bytes, struct error **err)
{
  struct place place;
  place_of(env, id, &place);
  CLEANUP(freep)
  char *arguments =
      xasprintf("{\"node-name\":\"" NODE_NAME "\",\"size\":%llu}", (unsigned long long)size_bytes);
  int r = qmp_command(place.socket, "block_resize", arguments, NULL, err);
  place_clear(&place);
  if (r == 0)
    loop_device_refresh(mapping->device);
  return r;
}

static const struct option_rule no_options[] = {{NULL, OPTION_FLAG, NULL}};

const struct mapper fuse_mapper = {
    .name = "fuse",
    .map_rules = no_options,
    .unmap_rules = no_options,
    .probe = fuse_probe,
    .features = all_features,
    .map = fuse_map,
    .find = fuse_find,
    .unmap = fuse_unmap,
    .resize = fuse_resize,
};
