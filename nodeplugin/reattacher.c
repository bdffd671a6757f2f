/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/reattacher.h"

#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/worker_pool.h"
#include "nodeplugin/attach.h"
#include "nodeplugin/nbd.h"

/* The kernel gives up after two minutes, and one whose cluster is away takes half of that: others
 * must not wait for it. */
#define WORKERS 8
#define WAITING_MAX 1024

/* A volume whose process is being replaced. */
struct rescue {
  struct job job;
  struct reattacher *reattacher;
  char *volume_id;
  struct rescue *next;
};

struct reattacher {
  struct node *node;
  struct worker_pool *pool;
  pthread_mutex_t mutex;  /* guards the list */
  struct rescue *rescues; /* that run or wait */
};

static int
reattach(struct node *node, const char *volume_id, struct error **err)
{
  struct volume volume;
  if (volume_find_any(node, volume_id, &volume, err) < 0)
    return -1;
  int r = attach_serve_again(node, &volume, err);
  volume_clear(&volume);
  return r;
}

static void
end(struct rescue *rescue)
{
  struct reattacher *reattacher = rescue->reattacher;
  (void)pthread_mutex_lock(&reattacher->mutex);
  struct rescue **at = &reattacher->rescues;
  while (*at != rescue)
    at = &(*at)->next;
  *at = rescue->next;
  (void)pthread_mutex_unlock(&reattacher->mutex);
  free(rescue->volume_id);
  free(rescue);
}

static void
run(struct job *job)
{
  struct rescue *rescue = CONTAINER_OF(job, struct rescue, job);
  struct node *node = rescue->reattacher->node;
  CLEANUP(error_freep) struct error *err = NULL;
  struct keyed_lock *lock = node_lock(node, rescue->volume_id, "reattaching", NULL);
  if (lock) { /* else the call that has it will see to it */
    if (reattach(node, rescue->volume_id, &err) < 0)
      log_error("reattach volume '%s': %s", rescue->volume_id, err->message);
    else
      log_info("volume '%s' has a new process behind its device", rescue->volume_id);
    keyed_lock_release(lock);
  }
  end(rescue);
}

struct reattacher *
reattacher_new(struct node *node)
{
  struct reattacher *reattacher = xcalloc(1, sizeof(*reattacher));
  reattacher->node = node;
  reattacher->pool = worker_pool_new("reattach", WORKERS, WAITING_MAX);
  (void)pthread_mutex_init(&reattacher->mutex, NULL);
  return reattacher;
}

/* NULL when it is under way already. */
static struct rescue *
begin(struct reattacher *reattacher, const struct volume_id *id)
{
  CLEANUP(freep) char *volume_id = volume_id_encode(id);
  MUTEX_GUARD(&reattacher->mutex);
  for (const struct rescue *at = reattacher->rescues; at; at = at->next) {
    if (strcmp(at->volume_id, volume_id) == 0)
      return NULL;
  }
  struct rescue *rescue = xcalloc(1, sizeof(*rescue));
  *rescue = (struct rescue){.job.run = run,
                            .reattacher = reattacher,
                            .volume_id = TAKE(volume_id),
                            .next = reattacher->rescues};
  reattacher->rescues = rescue;
  return rescue;
}

void
reattacher_kick(struct reattacher *reattacher)
{
  struct volume_id *ids;
  size_t count;
  nbd_list_orphans(&reattacher->node->env, &ids, &count);
  for (size_t i = 0; i < count; i++) {
    if (attach_is_taken(reattacher->node, &ids[i]))
      continue;
    struct rescue *rescue = begin(reattacher, &ids[i]);
    if (rescue && !worker_pool_submit(reattacher->pool, &rescue->job))
      end(rescue);
  }
  free(ids);
}

bool
reattacher_stop(struct reattacher *reattacher, int64_t deadline_ms)
{
  return worker_pool_stop(reattacher->pool, deadline_ms);
}

void
reattacher_free(struct reattacher *reattacher)
{
  worker_pool_free(reattacher->pool);
  (void)pthread_mutex_destroy(&reattacher->mutex);
  free(reattacher);
}
