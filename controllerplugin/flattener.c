/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/flattener.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "csi/volume/record.h"
#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/worker_pool.h"
#include "lib/ceph/image_change.h"
#include "lib/ceph/lost_parent.h"

#define DEPTH_SOFT 8
/* The kernel's limit is 16; one is left for a snapshot's clone made by hand. */
#define DEPTH_HARD 15
/* Copying is bound by the cluster, not by us: two at a time keep it busy. */
#define THREADS 2
#define QUEUE_MAX 10000

struct flattening {
  struct job job;
  struct flattener *flattener;
  struct flattening *next;
  struct location *location;
  char *image_id;
  bool is_cancelled;
};

struct flattener {
  struct controller *controller;
  struct worker_pool *pool;
  pthread_mutex_t mutex; /* guards the list and is_cancelled of each */
  struct flattening *head;
};

struct flattener *
flattener_new(struct controller *controller)
{
  struct flattener *flattener = xcalloc(1, sizeof(*flattener));
  flattener->controller = controller;
  flattener->pool = worker_pool_new("flatten", THREADS, QUEUE_MAX);
  (void)pthread_mutex_init(&flattener->mutex, NULL);
  return flattener;
}

bool
flattener_stop(struct flattener *flattener, int64_t deadline_ms)
{
  return worker_pool_stop(flattener->pool, deadline_ms);
}

void
flattener_free(struct flattener *flattener)
{
  if (!flattener)
    return;
  worker_pool_free(flattener->pool);
  (void)pthread_mutex_destroy(&flattener->mutex);
  free(flattener);
}

static bool
is_cancelled(struct flattening *work)
{
  MUTEX_GUARD(&work->flattener->mutex);
  return work->is_cancelled || atomic_load(&work->flattener->controller->is_stopping);
}

static int
on_progress(void *context, int percent)
{
  (void)percent;
  return is_cancelled(context) ? -ECANCELED : 0;
}

static int
flatten(struct flattening *work, struct error **err)
{
  CLEANUP(image_closep) struct image *image = NULL;
  struct string_map mark = {0};
  record_write_flattening(work->image_id, &mark);
  int r = header_update_metadata(work->location, work->image_id, &mark, NULL, err);
  if (r == 0)
    r = lost_parent_cut(work->location, work->image_id, err);
  if (r == 0)
    r = image_open(work->location, work->image_id, &image, err);
  if (r == 0)
    r = image_flatten(image, on_progress, work, err);
  if (r == 0)
    r = header_update_metadata(work->location, work->image_id, NULL, &mark, err);
  string_map_clear(&mark);
  return r;
}

static void
finish(struct flattening *work)
{
  struct flattener *flattener = work->flattener;
  (void)pthread_mutex_lock(&flattener->mutex);
  struct flattening **at = &flattener->head;
  while (*at != work)
    at = &(*at)->next;
  *at = work->next;
  (void)pthread_mutex_unlock(&flattener->mutex);
  location_close(work->location);
  free(work->image_id);
  free(work);
}

static void
run(struct job *job)
{
  struct flattening *work = (struct flattening *)job;
  CLEANUP(error_freep) struct error *err = NULL;
  if (!is_cancelled(work)) {
    if (flatten(work, &err) == 0)
      log_info("image id '%s' in '%s' stands alone now, its chain of clones was long",
               work->image_id, work->location->label);
    else if (!is_cancelled(work))
      log_warn("flattening a long chain of clones failed: %s", err->message);
  }
  finish(work);
}

static bool
is_same(const struct flattening *work, const struct location *location, const char *image_id)
{
  return work->location->cluster == location->cluster &&
         work->location->pool_id == location->pool_id && strcmp(work->image_id, image_id) == 0 &&
         strcmp(work->location->name_space, location->name_space) == 0;
}

static void
add(struct flattener *flattener, struct location *location, const char *image_id)
{
  struct location *own;
  if (location_reopen(location, &own, NULL) < 0)
    return;
  struct flattening *work = xcalloc(1, sizeof(*work));
  work->job.run = run;
  work->flattener = flattener;
  work->location = own;
  work->image_id = xstrdup(image_id);

  (void)pthread_mutex_lock(&flattener->mutex);
  struct flattening *other = flattener->head;
  while (other && !is_same(other, location, image_id))
    other = other->next;
  if (!other) {
    work->next = flattener->head;
    flattener->head = work;
  }
  (void)pthread_mutex_unlock(&flattener->mutex);
  if (other) {
    location_close(work->location);
    free(work->image_id);
    free(work);
  } else if (!worker_pool_submit(flattener->pool, &work->job)) {
    finish(work);
  }
}

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
flattener_check_depth(struct flattener *flattener, struct content_source *source,
                      unsigned *ret_depth, struct error **err)
{
  struct location *location = content_source_location(source);
  unsigned ancestors = 0;
  if (count_ancestors(location, content_source_header(source), &ancestors, err) < 0)
    return -1;
  *ret_depth = ancestors + 1;
  if (*ret_depth <= DEPTH_HARD)
    return 0;
  const char *image_id = source->kind == CONTENT_SNAPSHOT ? source->snapshot.id.volume.image_id
                                                          : source->volume.id.image_id;
  add(flattener, location, image_id);
  return error_set(
      err, ERROR_ABORTED,
      "its source is the last of a chain of %u clones, which is as long as may be; the "
      "source is being flattened, call again",
      ancestors);
}

void
flattener_add_if_deep(struct flattener *flattener, struct location *location, const char *image_id,
                      unsigned depth)
{
  if (depth > DEPTH_SOFT)
    add(flattener, location, image_id);
}

void
flattener_resume(struct flattener *flattener, struct location *location, const char *image_id)
{
  add(flattener, location, image_id);
}

void
flattener_cancel(struct flattener *flattener, const struct location *location, const char *image_id)
{
  MUTEX_GUARD(&flattener->mutex);
  for (struct flattening *work = flattener->head; work; work = work->next) {
    if (is_same(work, location, image_id))
      work->is_cancelled = true;
  }
}
