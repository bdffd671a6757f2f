/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/flattener.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "controllerplugin/flattening.h"
#include "controllerplugin/volume.h"
#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/worker_pool.h"

#define DEPTH_SOFT 8
/* The kernel's limit is 16; one is left for a snapshot's clone made by hand. */
#define DEPTH_HARD 15
/* Copying is bound by the cluster, not by us: two at a time keep it busy. */
#define THREADS 2
#define QUEUE_MAX 10000
/* Until the next try, first and at most. Who was made room for has opened the image by the first.
 */
#define LATER_MS 10000
#define LATER_MAX_MS 600000
/* Who copies ends with the object that he is at. */
#define HOLD_WAIT_MS 10000

/* One volume; in a pool's queue, being worked on, or put off. */
struct work {
  struct job job;
  struct flattener *flattener;
  struct work *next;
  struct volume_id id;

  /* Guarded by the flattener's mutex. */
  bool is_running;
  bool is_cancelled;
  bool is_put_off;
  int64_t due_ms;   /* when it was put off */
  int64_t later_ms; /* how long it was put off; 0: never */
};

struct flattener_hold {
  struct flattener *flattener;
  struct flattener_hold *next;
  struct volume_id id;
};

struct flattener {
  struct controller *controller;
  struct worker_pool *pool;
  struct worker_pool *waiting; /* a thread for the time that something is put off */
  struct job wait_job;

  pthread_mutex_t mutex; /* guards what follows, and the works */
  pthread_cond_t change;
  struct work *head;
  struct flattener_hold *holds;
  bool has_waiter;
  bool is_stopping;
};

static void wait_for_works(struct job *job);

struct flattener *
flattener_new(struct controller *controller)
{
  struct flattener *flattener = xcalloc(1, sizeof(*flattener));
  flattener->controller = controller;
  flattener->pool = worker_pool_new("flatten", THREADS, QUEUE_MAX);
  flattener->waiting = worker_pool_new("flatten-later", 1, 1);
  flattener->wait_job.run = wait_for_works;
  (void)pthread_mutex_init(&flattener->mutex, NULL);
  condition_init(&flattener->change);
  return flattener;
}

bool
flattener_stop(struct flattener *flattener, int64_t deadline_ms)
{
  (void)pthread_mutex_lock(&flattener->mutex);
  flattener->is_stopping = true;
  (void)pthread_cond_broadcast(&flattener->change);
  (void)pthread_mutex_unlock(&flattener->mutex);
  bool is_at_rest = worker_pool_stop(flattener->waiting, deadline_ms);
  return worker_pool_stop(flattener->pool, deadline_ms) && is_at_rest;
}

void
flattener_free(struct flattener *flattener)
{
  if (!flattener)
    return;
  for (struct work *work = flattener->head, *next; work; work = next) { /* those put off */
    next = work->next;
    free(work);
  }
  worker_pool_free(flattener->waiting);
  worker_pool_free(flattener->pool);
  (void)pthread_mutex_destroy(&flattener->mutex);
  (void)pthread_cond_destroy(&flattener->change);
  free(flattener);
}

static void
finish(struct work *work)
{
  struct flattener *flattener = work->flattener;
  (void)pthread_mutex_lock(&flattener->mutex);
  struct work **at = &flattener->head;
  while (*at != work)
    at = &(*at)->next;
  *at = work->next;
  (void)pthread_mutex_unlock(&flattener->mutex);
  free(work);
}

/* ---- what was put off ------------------------------------------------------------------------ */

/* The one that is due first; called with the mutex held. */
static struct work *
find_next_due(struct flattener *flattener)
{
  struct work *next = NULL;
  for (struct work *work = flattener->head; work; work = work->next) {
    if (work->is_put_off && (!next || work->due_ms < next->due_ms))
      next = work;
  }
  return next;
}

/* Hands each work over when it is due; ends when none is left. */
static void
wait_for_works(struct job *job)
{
  struct flattener *flattener = CONTAINER_OF(job, struct flattener, wait_job);
  struct work *work;
  (void)pthread_mutex_lock(&flattener->mutex);
  while (!flattener->is_stopping && (work = find_next_due(flattener))) {
    if (work->due_ms > clock_now_ms()) {
      struct timespec until = clock_timespec_of_ms(work->due_ms);
      (void)pthread_cond_timedwait(&flattener->change, &flattener->mutex, &until);
      continue;
    }
    work->is_put_off = false;
    (void)pthread_mutex_unlock(&flattener->mutex);
    if (!worker_pool_submit(flattener->pool, &work->job))
      finish(work);
    (void)pthread_mutex_lock(&flattener->mutex);
  }
  flattener->has_waiter = false;
  (void)pthread_mutex_unlock(&flattener->mutex);
}

/* Each time for longer, unless it was in the way of somebody. */
static void
put_off(struct work *work, bool made_room)
{
  struct flattener *flattener = work->flattener;
  MUTEX_GUARD(&flattener->mutex);
  work->later_ms = made_room || work->later_ms == 0 ? LATER_MS : work->later_ms * 2;
  if (work->later_ms > LATER_MAX_MS)
    work->later_ms = LATER_MAX_MS;
  work->due_ms = clock_now_ms() + work->later_ms;
  work->is_put_off = true;
  if (!flattener->has_waiter)
    flattener->has_waiter = worker_pool_submit(flattener->waiting, &flattener->wait_job);
  (void)pthread_cond_broadcast(&flattener->change);
}

/* ---- one volume ------------------------------------------------------------------------------ */

static bool
is_cancelled(struct work *work)
{
  MUTEX_GUARD(&work->flattener->mutex);
  return work->is_cancelled || atomic_load(&work->flattener->controller->is_stopping);
}

/* Called with the mutex held. */
static bool
is_held(const struct work *work)
{
  const struct flattener_hold *hold = work->flattener->holds;
  while (hold && !volume_id_equal(&hold->id, &work->id))
    hold = hold->next;
  return hold;
}

static bool
is_to_end(void *context)
{
  struct work *work = context;
  MUTEX_GUARD(&work->flattener->mutex);
  return work->is_cancelled || is_held(work) ||
         atomic_load(&work->flattener->controller->is_stopping);
}

/* False when somebody holds the volume. */
static bool
begin(struct work *work)
{
  MUTEX_GUARD(&work->flattener->mutex);
  work->is_running = !is_held(work);
  return work->is_running;
}

/* Whether it was ended for somebody who holds the volume. */
static bool
end(struct work *work)
{
  MUTEX_GUARD(&work->flattener->mutex);
  work->is_running = false;
  (void)pthread_cond_broadcast(&work->flattener->change);
  return is_held(work);
}

static int
try(struct work *work, enum flattening_end *ret_end, struct error **err)
{
  CLEANUP(location_closep) struct location *location = NULL;
  if (volume_locate(work->flattener->controller, &work->id, &location, err) < 0)
    return -1;
  const struct flattening flattening = {.location = location,
                                        .image_id = work->id.image_id,
                                        .is_cancelled = is_to_end,
                                        .context = work};
  return flattening_try(&flattening, ret_end, err);
}

static void
tell_done(const struct work *work)
{
  CLEANUP(freep) char *handle = volume_id_encode(&work->id);
  log_info("volume '%s' stands alone now, its chain of clones was long", handle);
}

/* What comes of a try that was not the last one. */
static void
try_later(struct work *work, bool made_room, const struct error *failure)
{
  CLEANUP(freep) char *handle = volume_id_encode(&work->id);
  if (failure && !made_room)
    log_warn("flattening volume '%s', whose chain of clones is long, failed and is tried again: %s",
             handle, failure->message);
  else if (made_room || work->later_ms == 0)
    log_info("volume '%s' is wanted, or in use: its long chain of clones is flattened later",
             handle);
  put_off(work, made_room);
}

static void
run(struct job *job)
{
  struct work *work = (struct work *)job;
  CLEANUP(error_freep) struct error *err = NULL;
  enum flattening_end how = FLATTENING_MADE_ROOM;
  int r = 0;
  bool made_room = !begin(work);
  if (!made_room) {
    r = is_cancelled(work) ? -1 : try(work, &how, &err);
    made_room = end(work) && r < 0;
  }
  bool is_done = r == 0 && how == FLATTENING_DONE;
  bool is_over =
      is_done || (r == 0 && how == FLATTENING_NOT_WANTED) || (err && err->code == ERROR_NOT_FOUND);
  if (is_done)
    tell_done(work);
  if (is_over || is_cancelled(work))
    finish(work);
  else
    try_later(work, made_room || (r == 0 && how == FLATTENING_MADE_ROOM), err);
}

static struct volume_id
id_of(const struct location *location, const char *image_id)
{
  struct volume_id id = {.pool_id = location->pool_id};
  (void)snprintf(id.cluster_id, sizeof(id.cluster_id), "%s", cluster_id(location->cluster));
  (void)snprintf(id.name_space, sizeof(id.name_space), "%s", location->name_space);
  (void)snprintf(id.image_id, sizeof(id.image_id), "%s", image_id);
  return id;
}

/* Called with the mutex held. */
static struct work *
find(struct flattener *flattener, const struct volume_id *id)
{
  struct work *work = flattener->head;
  while (work && !volume_id_equal(&work->id, id))
    work = work->next;
  return work;
}

static void
add(struct flattener *flattener, const struct volume_id *id)
{
  (void)pthread_mutex_lock(&flattener->mutex);
  struct work *work = NULL;
  if (!find(flattener, id)) {
    work = xcalloc(1, sizeof(*work));
    work->job.run = run;
    work->flattener = flattener;
    work->id = *id;
    work->next = flattener->head;
    flattener->head = work;
  }
  (void)pthread_mutex_unlock(&flattener->mutex);
  if (work && !worker_pool_submit(flattener->pool, &work->job))
    finish(work);
}

void
flattener_add(struct flattener *flattener, const struct location *location, const char *image_id)
{
  const struct volume_id id = id_of(location, image_id);
  add(flattener, &id);
}

void
flattener_cancel(struct flattener *flattener, const struct location *location, const char *image_id)
{
  const struct volume_id id = id_of(location, image_id);
  MUTEX_GUARD(&flattener->mutex);
  struct work *work = find(flattener, &id);
  if (!work)
    return;
  work->is_cancelled = true;
  work->due_ms = 0;
  (void)pthread_cond_broadcast(&flattener->change);
}

/* ---- keeping it off a volume ----------------------------------------------------------------- */

/* Until it is not worked on. False when it still is after a while. Called with the mutex held. */
static bool
wait_for_end(struct flattener *flattener, const struct volume_id *id)
{
  struct timespec until = clock_timespec_of_ms(clock_now_ms() + HOLD_WAIT_MS);
  for (;;) {
    const struct work *work = find(flattener, id);
    if (!work || !work->is_running)
      return true;
    if (pthread_cond_timedwait(&flattener->change, &flattener->mutex, &until) != 0)
      return false;
  }
}

int
flattener_hold(struct flattener *flattener, const struct volume *volume,
               struct flattener_hold **ret_hold, struct error **err)
{
  *ret_hold = NULL;
  if (volume->header.parent.pool_id < 0) /* nobody copies what stands alone */
    return 0;
  struct flattener_hold *hold = xcalloc(1, sizeof(*hold));
  hold->flattener = flattener;
  hold->id = volume->id;
  (void)pthread_mutex_lock(&flattener->mutex);
  hold->next = flattener->holds;
  flattener->holds = hold;
  bool is_free = wait_for_end(flattener, &hold->id);
  (void)pthread_mutex_unlock(&flattener->mutex);
  if (!is_free) {
    flattener_release(hold);
    return error_set(err, ERROR_ABORTED, "its long chain of clones is being flattened: call again");
  }
  *ret_hold = hold;
  return 0;
}

void
flattener_release(struct flattener_hold *hold)
{
  if (!hold)
    return;
  struct flattener *flattener = hold->flattener;
  (void)pthread_mutex_lock(&flattener->mutex);
  struct flattener_hold **at = &flattener->holds;
  while (*at != hold)
    at = &(*at)->next;
  *at = hold->next;
  (void)pthread_mutex_unlock(&flattener->mutex);
  free(hold);
}

/* ---- how long chains are --------------------------------------------------------------------- */

/* How many ancestors an image with this header has; counting ends above the hard limit. */
static int
count_ancestors(struct location *location, const struct header *header, unsigned *ret_count,
                struct error **err)
{
  unsigned count = 0;
  struct image_parent at = header->parent;
  struct header read = {.parent.pool_id = -1};
  while (at.pool_id >= 0 && ++count <= DEPTH_HARD) {
    CLEANUP(location_closep) struct location *parent = NULL;
    struct header next;
    if (location_open_by_id(location->cluster, at.pool_id, at.name_space, &parent, err) < 0 ||
        header_read(parent, at.image_id, &next, err) < 0) {
      header_clear(&read);
      return error_wrap(err, "count the ancestors of the source");
    }
    header_clear(&read);
    read = next;
    at = read.parent;
  }
  header_clear(&read);
  *ret_count = count;
  return 0;
}

int
flattener_read_depth(struct content_source *source, struct flattener_depth *ret_depth,
                     struct error **err)
{
  unsigned ancestors = 0;
  if (count_ancestors(content_source_location(source), content_source_header(source), &ancestors,
                      err) < 0)
    return -1;
  *ret_depth = (struct flattener_depth){.is_deep = ancestors + 1 > DEPTH_SOFT,
                                        .is_too_deep = ancestors + 1 > DEPTH_HARD};
  return 0;
}
