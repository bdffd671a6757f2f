/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/inline_collector.h"

#include <stdatomic.h>
#include <time.h>

#include "csi/volume/image_name.h"
#include "csi/volume/inline_record.h"
#include "csi/volume/record.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/worker_pool.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_clients.h"
#include "lib/ceph/trash.h"
#include "lib/ceph/trash_lock.h"
#include "lib/ceph/unfinished.h"
#include "nodeplugin/inline_note.h"
#include "nodeplugin/inline_volume.h"
#include "nodeplugin/mapper_table.h"
#include "nodeplugin/target_path.h"

/* Rounds in the time after which a node counts as gone: a few may fail. */
#define ROUNDS_PER_EXPIRY 24
/* After so many rounds without a sign of life, an image is not that of another node that has our
 * name, in another Kubernetes on the same pool. */
#define ROUNDS_OF_NAMESAKE 2
/* What is left in a trash, because somebody else empties it or has it open, is tried again. */
#define TRASH_AGAIN_MS 3000

struct inline_collector {
  struct node *node;
  int64_t expiry_s;
  struct worker_pool *pool;
  struct job job;
  atomic_bool is_busy;
  atomic_bool is_stopping;
  atomic_bool is_trash_due;
  /* of the job and, while there is none, of tick() */
  int64_t round_ms;             /* the next round, at this time */
  int64_t trash_ms;             /* the next look at the trash; CLOCK_NEVER_MS: when kicked */
  bool is_round;                /* the job is one */
  struct string_map unfinished; /* images without a record, in the last round, and … */
  struct string_map suspects;   /* … in this one */
};

/* ---- the trash ------------------------------------------------------------------------------- */

/* Whether something is left in it. */
static bool
empty_trash(struct inline_collector *c, struct location *location)
{
  struct trash trash;
  bool is_ours;
  if (trash_list(location, IMAGE_NAME_INLINE_PREFIX, &trash, NULL) < 0)
    return true;
  bool is_left = trash.is_being_removed;
  if (trash.count > 0 && trash_lock_take(location, &is_ours, NULL) == 0 && is_ours) {
    for (size_t i = 0; i < trash.count && !atomic_load(&c->is_stopping); i++) {
      CLEANUP(error_freep) struct error *err = NULL;
      if (trash_remove(location, &trash.entries[i], &err) == 0)
        continue;
      is_left = true;
      if (err->code != ERROR_FAILED_PRECONDITION)
        log_warn("freeing an inline volume failed, it is tried again: %s", err->message);
    }
    trash_lock_release(location);
  } else if (trash.count > 0) {
    is_left = true;
  }
  trash_clear(&trash);
  return is_left;
}

/* ---- one image ------------------------------------------------------------------------------- */

/* A path that is not in kubelet's folder is that of a namesake's pod. */
static bool
is_pod_there(struct node *node, const struct inline_record *record)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct target_path target;
  int r = target_path_open(&node->kubelet_dir, "target", record->target, &target, &failure);
  if (r == 0)
    target_path_clear(&target);
  return r == 0 || (failure->code != ERROR_NOT_FOUND && failure->code != ERROR_INVALID_ARGUMENT);
}

static void
collect(struct inline_collector *c, struct location *location, const struct directory_entry *entry,
        const char *kubelet_id, const char *why)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct volume_id id;
  inline_volume_id(location, entry->id, &id);
  CLEANUP(freep) char *handle = volume_id_encode(&id);
  /* A call that has it is at work on it: then it is not forgotten. The reattacher knows it by its
   * handle, kubelet by an id of its own. */
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock = node_lock(c->node, kubelet_id, "collecting", NULL);
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *handle_lock = lock ? node_lock(c->node, handle, "collecting", NULL) : NULL;
  if (!handle_lock)
    return;
  if (inline_volume_destroy(c->node, &id, &err) < 0) {
    log_warn("inline volume '%s/%s' stays for now: %s", location->label, entry->name, err->message);
    return;
  }
  log_info("inline volume '%s/%s' is removed: %s", location->label, entry->name, why);
  inline_note_remove(c->node, kubelet_id);
}

static bool
is_unused(struct location *location, const char *image_id)
{
  bool any;
  return image_clients_any(location, image_id, &any, NULL) == 0 && !any;
}

/* One of this node's, by its name, whose pod is not here. */
static bool
is_forgotten(struct inline_collector *c, struct location *location, const char *image_id,
             const struct inline_record *record, int64_t now_s)
{
  struct mapping mapping = {0};
  struct volume_id id;
  inline_volume_id(location, image_id, &id);
  if (mapper_find(&c->node->env, &id, &mapping)) {
    mapping_clear(&mapping);
    return true;
  }
  return now_s - record->seen_s > c->expiry_s * ROUNDS_OF_NAMESAKE / ROUNDS_PER_EXPIRY &&
         is_unused(location, image_id);
}

static void
look_at_finished(struct inline_collector *c, struct location *location,
                 const struct directory_entry *entry, const struct header *header)
{
  struct inline_record record;
  struct string_map seen = {0};
  int64_t now_s = (int64_t)time(NULL);
  inline_record_read(&header->metadata, &record);
  switch (inline_record_fate(&record, c->node->name, now_s, c->expiry_s)) {
  case INLINE_FATE_OWN:
    if (!is_pod_there(c->node, &record)) {
      if (is_forgotten(c, location, entry->id, &record, now_s))
        collect(c, location, entry, record.volume_id, "its pod is gone");
      break;
    }
    inline_record_write_seen(now_s, &seen);
    (void)header_update_metadata(location, entry->id, &seen, NULL, NULL);
    string_map_clear(&seen);
    break;
  case INLINE_FATE_EXPIRED:
    if (is_unused(location, entry->id))
      collect(c, location, entry, record.volume_id, "its node is gone");
    break;
  case INLINE_FATE_OTHER:
    break;
  }
}

/* No call takes as long as a round. */
static void
look_at_unfinished(struct inline_collector *c, struct location *location,
                   const struct directory_entry *entry, const struct header *header)
{
  CLEANUP(freep) char *key = xasprintf("%s/%s", location->label, entry->id);
  string_map_set(&c->suspects, key, "");
  if (!string_map_get(&c->unfinished, key) || !is_unused(location, entry->id))
    return;
  if (unfinished_take_away(location, entry->name, entry->id, header, RECORD_READY, NULL) == 0)
    log_info("inline volume '%s/%s' is removed: it was never finished", location->label,
             entry->name);
}

static void
look_at_image(struct inline_collector *c, struct location *location,
              const struct directory_entry *entry)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct header header = {.parent.pool_id = -1};
  bool has_header = header_read(location, entry->id, &header, &failure) == 0;
  if (!has_header && failure->code != ERROR_NOT_FOUND)
    return;
  if (record_is_ready(&header.metadata, entry->id))
    look_at_finished(c, location, entry, &header);
  else
    look_at_unfinished(c, location, entry, has_header ? &header : NULL);
  header_clear(&header);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Whether something is left in its trash. */
static bool
look_at_location(struct inline_collector *c, struct location *location)
{
  struct directory directory;
  if (c->is_round && c->expiry_s > 0 &&
      directory_list(location, IMAGE_NAME_INLINE_PREFIX, &directory, NULL) == 0) {
    for (size_t i = 0; i < directory.count && !atomic_load(&c->is_stopping); i++)
      look_at_image(c, location, &directory.entries[i]);
    directory_clear(&directory);
  }
  return empty_trash(c, location);
}

static bool
look_at_cluster(struct inline_collector *c, const char *id)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  struct locations locations;
  if (clusters_get(c->node->clusters, id, &cluster, &err) < 0 ||
      locations_list(cluster, &locations, &err) < 0) {
    log_warn("looking for inline volumes that are left over: %s", err->message);
    return true;
  }
  bool is_left = false;
  for (size_t i = 0; i < locations.count && !atomic_load(&c->is_stopping); i++)
    is_left = look_at_location(c, locations.items[i]) || is_left;
  locations_clear(&locations);
  return is_left;
}

static void
look(struct job *job)
{
  struct inline_collector *c = CONTAINER_OF(job, struct inline_collector, job);
  struct cluster_ids ids;
  bool is_left = false;
  clusters_ids(c->node->clusters, &ids);
  for (size_t i = 0; i < ids.count && !atomic_load(&c->is_stopping); i++)
    is_left = look_at_cluster(c, ids.ids[i]) || is_left;
  cluster_ids_clear(&ids);
  if (c->is_round) {
    string_map_clear(&c->unfinished);
    c->unfinished = c->suspects;
    c->suspects = (struct string_map){0};
  }
  c->trash_ms = is_left ? clock_now_ms() + TRASH_AGAIN_MS : CLOCK_NEVER_MS;
  atomic_store(&c->is_busy, false);
}

struct inline_collector *
inline_collector_new(struct node *node, int64_t expiry_s)
{
  struct inline_collector *c = xcalloc(1, sizeof(*c));
  c->node = node;
  c->expiry_s = expiry_s;
  c->pool = worker_pool_new("inline", 1, 1);
  c->job.run = look;
  c->round_ms = clock_now_ms();
  c->trash_ms = CLOCK_NEVER_MS;
  return c;
}

void
inline_collector_kick(struct inline_collector *collector)
{
  if (collector)
    atomic_store(&collector->is_trash_due, true);
}

void
inline_collector_tick(struct inline_collector *c)
{
  int64_t now_ms = clock_now_ms();
  if (atomic_load(&c->is_busy))
    return;
  bool is_round = now_ms >= c->round_ms;
  if (!is_round && now_ms < c->trash_ms && !atomic_load(&c->is_trash_due))
    return;
  atomic_store(&c->is_trash_due, false);
  if (is_round)
    c->round_ms = c->expiry_s ? now_ms + c->expiry_s * 1000 / ROUNDS_PER_EXPIRY : CLOCK_NEVER_MS;
  c->is_round = is_round;
  atomic_store(&c->is_busy, true);
  if (!worker_pool_submit(c->pool, &c->job))
    atomic_store(&c->is_busy, false);
}

bool
inline_collector_stop(struct inline_collector *collector, int64_t deadline_ms)
{
  atomic_store(&collector->is_stopping, true);
  return worker_pool_stop(collector->pool, deadline_ms);
}

void
inline_collector_free(struct inline_collector *collector)
{
  worker_pool_free(collector->pool);
  string_map_clear(&collector->unfinished);
  string_map_clear(&collector->suspects);
  free(collector);
}
