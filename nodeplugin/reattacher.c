/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/reattacher.h"

#include <stdatomic.h>

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/worker_pool.h"
#include "nodeplugin/attach.h"
#include "nodeplugin/mapper_table.h"
#include "nodeplugin/nbd.h"

struct reattacher {
  struct node *node;
  struct worker_pool *pool;
  struct job job;
  atomic_bool is_busy;
};

static int
reattach(struct node *node, const char *volume_id, struct error **err)
{
  struct volume volume;
  struct mapping mapping = {0};
  bool is_new;
  if (volume_find_any(node, volume_id, &volume, err) < 0)
    return -1;
  int r = 0;
  if (mapper_find(&node->env, &volume.id, &mapping) && !mapping.is_alive) {
    const struct attach_wish wish = {.is_read_only = mapping.is_read_only, .others = ATTACH_SHARED};
    mapping_clear(&mapping);
    r = attach_volume(node, &volume, &wish, &mapping, &is_new, err);
  }
  mapping_clear(&mapping);
  volume_clear(&volume);
  return r;
}

static void
look(struct job *job)
{
  struct reattacher *reattacher = CONTAINER_OF(job, struct reattacher, job);
  struct volume_id *ids;
  size_t count;
  nbd_list_orphans(&reattacher->node->env, &ids, &count);
  for (size_t i = 0; i < count; i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(freep) char *text = volume_id_encode(&ids[i]);
    CLEANUP(keyed_lock_releasep)
    struct keyed_lock *lock = node_lock(reattacher->node, text, "reattaching", NULL);
    if (!lock) /* the call that has it will see to it */
      continue;
    if (reattach(reattacher->node, text, &err) < 0)
      log_error("reattach volume '%s': %s", text, err->message);
    else
      log_info("volume '%s' has a new process behind its device", text);
  }
  free(ids);
  atomic_store(&reattacher->is_busy, false);
}

struct reattacher *
reattacher_new(struct node *node)
{
  struct reattacher *reattacher = xcalloc(1, sizeof(*reattacher));
  reattacher->node = node;
  reattacher->pool = worker_pool_new("reattach", 1, 1);
  reattacher->job.run = look;
  return reattacher;
}

void
reattacher_kick(struct reattacher *reattacher)
{
  struct volume_id *ids;
  size_t count;
  if (atomic_load(&reattacher->is_busy))
    return;
  nbd_list_orphans(&reattacher->node->env, &ids, &count);
  free(ids);
  if (count == 0)
    return;
  atomic_store(&reattacher->is_busy, true);
  if (!worker_pool_submit(reattacher->pool, &reattacher->job))
    atomic_store(&reattacher->is_busy, false);
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
  free(reattacher);
}
