/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/nbd_server.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "lib/base/memory.h"
#include "nodeplugin/ceph_conf.h"
#include "nodeplugin/helper_lock.h"
#include "nodeplugin/helper_start.h"
#include "nodeplugin/process_words.h"
#include "nodeplugin/sys_call.h"
#include "nodeplugin/tool.h"

/* I/O waits so long for a new process; the restart of a pod takes some seconds. */
#define REATTACH_SECONDS "120"
/* Room for all of its arguments. */
#define WORDS_MAX 32

char *
nbd_server_cookie(const struct volume_id *id)
{
  CLEANUP(freep) char *text = volume_id_encode(id);
  return xasprintf(NBD_COOKIE_PREFIX "%s", text);
}

static char *
lock_path(const struct mapper_env *env, const struct volume_id *id)
{
  return xasprintf("%s/nbd.%s", env->run_dir, id->image_id);
}

/* flags: O_CREAT, or 0 when nothing is to be left behind by looking. */
static int
open_lock(const struct mapper_env *env, const struct volume_id *id, int flags)
{
  CLEANUP(freep) char *path = lock_path(env, id);
  return open(path, O_RDWR | flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

bool
nbd_server_runs(const struct mapper_env *env, const struct volume_id *id)
{
  CLEANUP(closep) int fd = open_lock(env, id, 0);
  return helper_lock_is_held(fd);
}

/* ---- its command line ------------------------------------------------------------------------ */

struct words {
  const char *items[WORDS_MAX + 1];
  size_t count;
  char *made[WORDS_MAX]; /* those that are ours to free */
  size_t made_count;
};

static void
add(struct words *words, const char *word)
{
  if (words->count < WORDS_MAX)
    words->items[words->count++] = word;
}

static void
add_made(struct words *words, char *word)
{
  words->made[words->made_count++] = word;
  add(words, word);
}

static void
words_clear(struct words *words)
{
  for (size_t i = 0; i < words->made_count; i++)
    free(words->made[i]);
}

static void
describe(const struct map_request *request, const char *device, const char *conf,
         struct words *words)
{
  const struct location *location = request->location;
  const char *const usual[] = {
      NBD_SERVER_PROGRAM, "-f",      "-c", conf, "--id", location->cluster->config.user,
      "--try-netlink",    "--cookie"};
  for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
    add(words, usual[i]);
  add_made(words, nbd_server_cookie(request->id));
  if (request->is_read_only)
    add(words, "--read-only");
  if (device) {
    add(words, "--device");
    add(words, device);
  }
  if (!option_list_find(request->options, "reattach-timeout")) {
    add(words, "--reattach-timeout");
    add(words, REATTACH_SECONDS);
  }
  for (size_t i = 0; i < request->options->count; i++) { /* at most as many as there are rules */
    const struct option_item *item = &request->options->items[i];
    add_made(words, xasprintf("--%s", item->name));
    if (item->value)
      add(words, item->value);
  }
  add(words, device ? "attach" : "map");
  add_made(words, xasprintf("%s/%s%s%s", location->pool, location->name_space,
                            *location->name_space ? "/" : "", request->image_name));
}

/* ---- its life -------------------------------------------------------------------------------- */

int
nbd_server_start(const struct mapper_env *env, const struct map_request *request,
                 const char *device, int log, struct subprocess **ret_server, struct error **err)
{
  CLEANUP(closep)
  int lock = helper_lock_take(open_lock(env, request->id, O_CREAT)); /* handed over */
  if (lock < 0)
    return error_set_errno(err, errno, "lock the volume for " NBD_SERVER_PROGRAM);
  CLEANUP(freep) char *program = tool_find(NBD_SERVER_PROGRAM);
  CLEANUP(freep) char *conf = NULL;
  if (!program)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     NBD_SERVER_PROGRAM " is not installed on this node");
  if (ceph_conf_write(env->run_dir, &request->location->cluster->config, &conf, err) < 0)
    return -1;
  struct words words = {0};
  describe(request, device, conf, &words);
  int r = helper_start(env->helpers, program, words.items, log, lock, ret_server, err);
  words_clear(&words);
  return r;
}

void
nbd_server_kill(const struct volume_id *id)
{
  CLEANUP(freep) char *cookie = nbd_server_cookie(id);
  for (pid_t pid = 0; (pid = process_words_search(cookie, pid)) > 0;)
    (void)SYS_CALL(kill(pid, SIGKILL));
}

void
nbd_server_forget(const struct mapper_env *env, const struct volume_id *id)
{
  CLEANUP(freep) char *lock = lock_path(env, id);
  if (access(lock, F_OK) == 0)
    (void)SYS_CALL(unlink(lock));
}
