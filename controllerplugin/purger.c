/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/purger.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "controllerplugin/sweep.h"
#include "controllerplugin/trash_plot.h"
#include "controllerplugin/volume.h"
#include "csi/rpc/server.h"
#include "csi/volume/image_name.h"
#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/worker_pool.h"
#include "lib/ceph/header.h"
#include "lib/ceph/import_remains.h"
#include "lib/ceph/trash.h"

/* Removals at once over all pools: enough to free an image every few milliseconds, too few to be
 * felt by those who work. */
#define THREADS 6
/* While there are calls, they come first: so many removals go on beside them. */
#define THREADS_BESIDE_CALLS 2
/* Calls that follow each other leave gaps; only after this long without one there are none. */
#define QUIET_MS 200
/* How long a removal that waits for calls to end sleeps before it looks again. */
#define LOOK_AGAIN_MS 20
/* A cluster that could not be looked through is tried again after this. */
#define SWEEP_AGAIN_MS 5000

struct purger {
  struct controller *controller;
  struct worker_pool *pool;
  struct job sweep_job;
  struct job purge_job;

  pthread_mutex_t mutex; /* guards all below, and the plots */
  pthread_cond_t change;
  struct trash_plot *plots;
  struct rpc_server *server;
  unsigned removing; /* removals that have begun */
  bool is_stopping;
};

/* One image to be removed. */
struct removal {
  struct job job;
  struct purger *purger;
  struct trash_plot *plot;
  struct trash_entry entry;
};

/* Called with the mutex held. */
static void
wait_for_change(struct purger *purger, int64_t until_ms)
{
  if (until_ms == CLOCK_NEVER_MS) {
    (void)pthread_cond_wait(&purger->change, &purger->mutex);
    return;
  }
  struct timespec until = clock_timespec_of_ms(until_ms);
  (void)pthread_cond_timedwait(&purger->change, &purger->mutex, &until);
}

/* ---- removing -------------------------------------------------------------------------------- */

/* What the removed images were clones of may go now, and may lie elsewhere in the cluster. Called
 * with the mutex held. */
static void
make_all_due(struct purger *purger, const struct cluster *cluster)
{
  for (struct trash_plot *plot = purger->plots; plot; plot = plot->next)
    plot->is_due = plot->is_due || plot->location->cluster == cluster;
}

/* Waits until this removal may begin beside the others and the calls. */
static void
begin_removal(struct purger *purger)
{
  MUTEX_GUARD(&purger->mutex);
  while (!purger->is_stopping && purger->removing >= THREADS_BESIDE_CALLS &&
         rpc_server_idle_ms(purger->server) < QUIET_MS)
    wait_for_change(purger, clock_now_ms() + LOOK_AGAIN_MS);
  purger->removing++;
}

static int
remove_image(struct location *location, const struct trash_entry *entry, struct error **err)
{
  if (import_remains_remove(location, entry->id, err) < 0)
    return -1;
  return trash_remove(location, entry, err);
}

static void
run_removal(struct job *job)
{
  struct removal *removal = (struct removal *)job;
  struct purger *purger = removal->purger;
  struct trash_plot *plot = removal->plot;
  CLEANUP(error_freep) struct error *err = NULL;
  begin_removal(purger);
  struct location *location = NULL;
  (void)location_reopen(plot->location, &location, NULL);
  int r = location && !atomic_load(&purger->controller->is_stopping)
              ? remove_image(location, &removal->entry, &err)
              : -1;
  location_close(location);
  if (r < 0 && err && err->code != ERROR_FAILED_PRECONDITION)
    log_warn("freeing a deleted image failed, it is tried again: %s", err->message);

  (void)pthread_mutex_lock(&purger->mutex);
  purger->removing--;
  plot->running--;
  if (r == 0)
    plot->has_removed = true;
  if (plot->running == 0) {
    trash_plot_put_off(plot);
    if (plot->has_removed)
      make_all_due(purger, plot->location->cluster);
  }
  (void)pthread_cond_broadcast(&purger->change);
  (void)pthread_mutex_unlock(&purger->mutex);
  free(removal->entry.id);
  free(removal->entry.name);
  free(removal);
}

/* ---- listing --------------------------------------------------------------------------------- */

static void
submit(struct purger *purger, struct trash_plot *plot, struct trash_entry *entry)
{
  struct removal *removal = xcalloc(1, sizeof(*removal));
  removal->job.run = run_removal;
  removal->purger = purger;
  removal->plot = plot;
  removal->entry = *entry;
  *entry = (struct trash_entry){0};
  (void)pthread_mutex_lock(&purger->mutex);
  plot->running++;
  (void)pthread_mutex_unlock(&purger->mutex);
  if (!worker_pool_submit(purger->pool, &removal->job))
    run_removal(&removal->job); /* stopping: it sees that and lets go */
}

/* Whether nothing stands on the image any more. An image with snapshots is not even tried: its last
 * clone may be going just now, by another worker, and librbd then still works on the header that it
 * removes here; the lock it asks for would make the object anew, for ever. */
static bool
is_free(struct location *location, const char *image_id, const struct header *header)
{
  struct header now;
  if (header->snap_count == 0)
    return true;
  (void)sweep_snapshots(location, image_id, header);
  if (header_read(location, image_id, &now, NULL) < 0)
    return false;
  bool is = now.snap_count == 0;
  header_clear(&now);
  return is;
}

static void
submit_free(struct purger *purger, struct trash_plot *plot, struct trash *trash)
{
  struct header *headers = xcalloc(trash->count + 1, sizeof(struct header));
  char **ids = xcalloc(trash->count + 1, sizeof(char *));
  bool *found = xcalloc(trash->count + 1, sizeof(bool));
  for (size_t i = 0; i < trash->count; i++)
    ids[i] = trash->entries[i].id;
  bool is_read = header_read_many(plot->location, ids, trash->count, headers, found, NULL) == 0;
  for (size_t i = 0; is_read && i < trash->count; i++) {
    if (!found[i] || is_free(plot->location, ids[i], &headers[i]))
      submit(purger, plot, &trash->entries[i]);
    header_clear(&headers[i]);
  }
  free(ids);
  free(found);
  free(headers);
}

/* Hands what may go to the workers. Whether there is something to come back for. */
static bool
list_plot(struct purger *purger, struct trash_plot *plot)
{
  struct trash trash;
  CLEANUP(error_freep) struct error *err = NULL;
  if (trash_list(plot->location, IMAGE_NAME_PREFIX, &trash, &err) < 0) {
    log_debug("listing the trash failed, it is tried again: %s", err->message);
    return true;
  }
  bool has_any = trash.count > 0 || trash.is_being_removed;
  if (trash.count == 0)
    trash_plot_unlock(plot);
  else if (trash_plot_lock(plot))
    submit_free(purger, plot, &trash);
  trash_clear(&trash);
  return has_any;
}

static void
forget(struct purger *purger, struct trash_plot *plot)
{
  struct trash_plot **at = &purger->plots;
  while (*at != plot)
    at = &(*at)->next;
  *at = plot->next;
  trash_plot_free(plot);
}

/* The next plot that needs something, or none and how long to wait. Called with the mutex held. */
static enum trash_care
next_care(struct purger *purger, struct trash_plot **ret_plot, int64_t *ret_until_ms)
{
  int64_t now_ms = clock_now_ms();
  *ret_until_ms = CLOCK_NEVER_MS;
  for (struct trash_plot *plot = purger->plots; plot; plot = plot->next) {
    int64_t until_ms;
    enum trash_care care = trash_plot_care(plot, now_ms, &until_ms);
    *ret_plot = plot;
    if (care != TRASH_CARE_NONE)
      return care;
    if (until_ms < *ret_until_ms)
      *ret_until_ms = until_ms;
  }
  return TRASH_CARE_NONE;
}

static void
add_plot(struct purger *purger, struct location *location)
{
  (void)pthread_mutex_lock(&purger->mutex);
  struct trash_plot *plot = purger->plots;
  while (plot && !trash_plot_is_at(plot, location))
    plot = plot->next;
  if (!plot && (plot = trash_plot_new(location))) {
    plot->next = purger->plots;
    purger->plots = plot;
  }
  if (plot)
    plot->is_due = true;
  (void)pthread_cond_broadcast(&purger->change);
  (void)pthread_mutex_unlock(&purger->mutex);
}

void
purger_kick(struct purger *purger, struct location *location)
{
  add_plot(purger, location);
}

int
purger_bury_if_free(struct purger *purger, struct location *location, const char *image_id,
                    struct error **err)
{
  struct snaps snaps;
  if (snapshots_read(location, image_id, &snaps, err) < 0)
    return -1;
  bool is_needed = snapshots_are_needed(&snaps);
  snaps_clear(&snaps);
  if (is_needed)
    return 0;
  CLEANUP(freep) char *name = image_name_of_deleted(image_id);
  if (trash_move(location, name, image_id, err) < 0)
    return -1;
  purger_kick(purger, location);
  return 0;
}

/* ---- the two long jobs ------------------------------------------------------------------------
 */

static bool
is_stopping(struct purger *purger)
{
  MUTEX_GUARD(&purger->mutex);
  return purger->is_stopping;
}

/* Each cluster once, those out of reach again and again. */
static void
sweep_clusters(struct job *job)
{
  struct purger *purger = CONTAINER_OF(job, struct purger, sweep_job);
  struct cluster_ids ids;
  clusters_ids(purger->controller->clusters, &ids);
  size_t left = ids.count;
  while (left > 0 && !is_stopping(purger)) {
    for (size_t i = 0; i < ids.count && !is_stopping(purger); i++) {
      if (ids.ids[i] && sweep_cluster(purger->controller, ids.ids[i]) == 0) {
        free(ids.ids[i]);
        ids.ids[i] = NULL;
        left--;
      }
    }
    if (left > 0) {
      MUTEX_GUARD(&purger->mutex);
      wait_for_change(purger, clock_now_ms() + SWEEP_AGAIN_MS);
    }
  }
  cluster_ids_clear(&ids);
}

/* The cluster has thrown this connection out: go on with a new one. Called with the mutex held. */
static void
replace_connection(struct purger *purger, struct trash_plot *plot)
{
  CLEANUP(freep) char *id = xstrdup(cluster_id(plot->location->cluster));
  forget(purger, plot);
  (void)pthread_mutex_unlock(&purger->mutex);
  (void)sweep_cluster(purger->controller, id);
  (void)pthread_mutex_lock(&purger->mutex);
}

/* Called with the mutex held, which is given up while Ceph works. */
static void
list_and_forget(struct purger *purger, struct trash_plot *plot)
{
  plot->is_due = plot->has_removed = false;
  trash_plot_put_off(plot);
  (void)pthread_mutex_unlock(&purger->mutex);
  bool has_any = list_plot(purger, plot);
  (void)pthread_mutex_lock(&purger->mutex);
  if (!has_any && !plot->is_due && plot->running == 0)
    forget(purger, plot);
}

/* Called with the mutex held, which is given up while Ceph works. */
static void
change_lock(struct purger *purger, struct trash_plot *plot, bool is_wanted)
{
  (void)pthread_mutex_unlock(&purger->mutex);
  if (is_wanted)
    (void)trash_plot_lock(plot);
  else
    trash_plot_unlock(plot);
  (void)pthread_mutex_lock(&purger->mutex);
}

static void
purge(struct job *job)
{
  struct purger *purger = CONTAINER_OF(job, struct purger, purge_job);
  (void)pthread_mutex_lock(&purger->mutex);
  while (!purger->is_stopping) {
    int64_t until_ms;
    struct trash_plot *plot = NULL;
    enum trash_care care = next_care(purger, &plot, &until_ms);
    if (care == TRASH_CARE_NONE)
      wait_for_change(purger, until_ms);
    else if (care != TRASH_CARE_LIST)
      change_lock(purger, plot, care == TRASH_CARE_LOCK);
    else if (cluster_is_blocklisted(plot->location->cluster))
      replace_connection(purger, plot);
    else
      list_and_forget(purger, plot);
  }
  (void)pthread_mutex_unlock(&purger->mutex);
}

struct purger *
purger_new(struct controller *controller)
{
  struct purger *purger = xcalloc(1, sizeof(*purger));
  purger->controller = controller;
  (void)pthread_mutex_init(&purger->mutex, NULL);
  condition_init(&purger->change);
  purger->pool = worker_pool_new("purge", THREADS + 2, SIZE_MAX);
  purger->sweep_job.run = sweep_clusters;
  purger->purge_job.run = purge;
  return purger;
}

void
purger_start(struct purger *purger, struct rpc_server *server)
{
  (void)pthread_mutex_lock(&purger->mutex);
  purger->server = server;
  (void)pthread_mutex_unlock(&purger->mutex);
  (void)worker_pool_submit(purger->pool, &purger->sweep_job);
  (void)worker_pool_submit(purger->pool, &purger->purge_job);
}

void
purger_halt(struct purger *purger)
{
  MUTEX_GUARD(&purger->mutex);
  purger->is_stopping = true;
  (void)pthread_cond_broadcast(&purger->change);
}

bool
purger_stop(struct purger *purger, int64_t deadline_ms)
{
  return worker_pool_stop(purger->pool, deadline_ms);
}

void
purger_free(struct purger *purger)
{
  if (!purger)
    return;
  while (purger->plots) {
    trash_plot_unlock(purger->plots);
    forget(purger, purger->plots);
  }
  worker_pool_free(purger->pool);
  (void)pthread_mutex_destroy(&purger->mutex);
  (void)pthread_cond_destroy(&purger->change);
  free(purger);
}
