/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/fuse_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "nodeplugin/ceph_conf.h"
#include "nodeplugin/helper_start.h"
#include "nodeplugin/process_words.h"
#include "nodeplugin/qmp.h"
#include "nodeplugin/sys_call.h"
#include "nodeplugin/tool.h"

#define START_WAIT_MS 30000
#define STOP_WAIT_MS 30000
#define KILL_WAIT_MS 5000
#define PAUSE_MS 20

static void
pause_a_moment(void)
{
  (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
}

static char *
describe_image(const struct map_request *request, const char *conf)
{
  struct json_object *image = json_object_new_object();
  const struct {
    const char *name, *value;
  } texts[] = {{"driver", "rbd"},
               {"node-name", FUSE_DAEMON_NODE},
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
describe_export(const struct map_request *request, const struct fuse_place *place)
{
  struct json_object *shown = json_object_new_object();
  json_object_object_add(shown, "type", json_object_new_string("fuse"));
  json_object_object_add(shown, "id", json_object_new_string("file"));
  json_object_object_add(shown, "node-name", json_object_new_string(FUSE_DAEMON_NODE));
  json_object_object_add(shown, "mountpoint", json_object_new_string(place->file));
  json_object_object_add(shown, "writable", json_object_new_boolean(!request->is_read_only));
  json_object_object_add(shown, "allow-other", json_object_new_string("off"));
  char *text = xstrdup(json_object_to_json_string_ext(shown, JSON_C_TO_STRING_PLAIN));
  json_object_put(shown);
  return text;
}

/* A word that no other process has on its command line. */
static char *
describe_monitor(const struct fuse_place *place)
{
  return xasprintf("socket,id=qmp,path=%s,server=on,wait=off", place->socket);
}

/* lock: handed over to the daemon, which holds it from here. */
static int
start_daemon(const struct mapper_env *env, const struct map_request *request,
             const struct fuse_place *place, int lock, struct subprocess **ret_daemon,
             struct error **err)
{
  CLEANUP(freep) char *program = tool_find(FUSE_DAEMON_PROGRAM);
  CLEANUP(freep) char *conf = NULL;
  if (!program)
    return error_set(err, ERROR_FAILED_PRECONDITION, "%s is not installed on this node",
                     FUSE_DAEMON_PROGRAM);
  if (ceph_conf_write(env->run_dir, &request->location->cluster->config, &conf, err) < 0)
    return -1;
  CLEANUP(freep) char *image = describe_image(request, conf);
  CLEANUP(freep) char *shown = describe_export(request, place);
  CLEANUP(freep) char *monitor = describe_monitor(place);
  CLEANUP(closep) int log = fuse_place_open(place, "log", O_RDWR | O_CREAT | O_TRUNC | O_APPEND);
  if (log < 0)
    return error_set_errno(err, errno, "make the log of %s", FUSE_DAEMON_PROGRAM);
  const char *const argv[] = {
      FUSE_DAEMON_PROGRAM, "--chardev", monitor,    "--monitor", "chardev=qmp",
      "--blockdev",        image,       "--export", shown,       NULL};
  return helper_start(env->helpers, program, argv, log, lock, ret_daemon, err);
}

/* daemon may be NULL: one that an earlier process has started. */
static int
wait_until_shown(const struct fuse_place *place, struct subprocess *daemon, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + START_WAIT_MS;
  while (!fuse_place_is_shown(place)) {
    int status;
    bool has_ended =
        daemon ? subprocess_wait(daemon, 0, &status, NULL) == 0 : !fuse_place_is_served(place);
    if (has_ended || clock_now_ms() > deadline_ms) {
      CLEANUP(closep) int log = fuse_place_open(place, "log", O_RDONLY);
      CLEANUP(freep) char *said = log >= 0 ? tool_say(log) : xstrdup("");
      return error_set(err, ERROR_UNAVAILABLE, "%s %s: %s", FUSE_DAEMON_PROGRAM,
                       has_ended ? "ended" : "does not show the image", said);
    }
    pause_a_moment();
  }
  return 0;
}

/* As start_daemon(), where none runs. */
static int
start_afresh(const struct mapper_env *env, const struct map_request *request,
             const struct fuse_place *place, int lock, struct subprocess **ret_daemon,
             struct error **err)
{
  if (fuse_place_clear_remains(place, err) < 0 || fuse_place_prepare(env, place, err) < 0 ||
      fuse_place_mark_new(place, err) < 0)
    return -1;
  return start_daemon(env, request, place, lock, ret_daemon, err);
}

int
fuse_daemon_ensure(const struct mapper_env *env, const struct map_request *request,
                   const struct fuse_place *place, struct error **err)
{
  CLEANUP(subprocess_freep) struct subprocess *daemon = NULL;
  CLEANUP(closep) int lock = fuse_place_take_lock(place);
  if (lock < 0 && errno != EWOULDBLOCK)
    return error_set_errno(err, errno, "lock '%s'", place->folder);
  if ((lock >= 0 && start_afresh(env, request, place, lock, &daemon, err) < 0) ||
      wait_until_shown(place, daemon, err) < 0)
    return -1;
  return fuse_place_unmark_new(place, err);
}

/* Its process, where its lock or its socket was lost; 0 when there is none. */
static pid_t
find_process(const struct fuse_place *place)
{
  CLEANUP(freep) char *monitor = describe_monitor(place);
  return process_words_search(monitor, 0);
}

/* pid: 0 when its lock is enough to know it by. */
static bool
wait_until_gone(const struct fuse_place *place, pid_t pid, int64_t timeout_ms)
{
  CLEANUP(freep) char *monitor = describe_monitor(place);
  int64_t deadline_ms = clock_now_ms() + timeout_ms;
  while (fuse_place_is_served(place) || (pid > 0 && process_words_has(pid, monitor))) {
    if (clock_now_ms() > deadline_ms)
      return false;
    pause_a_moment();
  }
  return true;
}

/* Tells it to end; *ret_pid is its process. */
static void
ask_to_end(const struct fuse_place *place, pid_t *ret_pid)
{
  int64_t deadline_ms = clock_now_ms() + KILL_WAIT_MS; /* it may be just about to start */
  int r;
  while ((r = qmp_command(place->socket, "quit", NULL, ret_pid, NULL)) < 0 && *ret_pid == 0 &&
         fuse_place_is_served(place) && clock_now_ms() < deadline_ms)
    pause_a_moment();
  if (r == 0)
    return;
  if (*ret_pid == 0)
    *ret_pid = find_process(place);
  if (*ret_pid > 0)
    (void)SYS_CALL(kill(*ret_pid, SIGTERM));
}

int
fuse_daemon_stop(const struct fuse_place *place, bool is_forced, struct error **err)
{
  pid_t pid = 0;
  if (!fuse_place_is_served(place) && (!fuse_place_is_shown(place) || find_process(place) == 0))
    return 0;
  ask_to_end(place, &pid);
  if (wait_until_gone(place, pid, is_forced ? KILL_WAIT_MS : STOP_WAIT_MS))
    return 0;
  if (!is_forced && !fuse_place_is_new(place))
    return error_set(err, ERROR_UNAVAILABLE,
                     FUSE_DAEMON_PROGRAM " has not let go of the image: the cluster, or the way to "
                                         "it, may be down; call again");
  if (pid > 0)
    (void)SYS_CALL(kill(pid, SIGKILL));
  if (wait_until_gone(place, pid, KILL_WAIT_MS))
    return 0;
  return error_set(err, ERROR_UNAVAILABLE, "%s of '%s' (pid %d) does not end: call again",
                   FUSE_DAEMON_PROGRAM, place->file, (int)pid);
}
