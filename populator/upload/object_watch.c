/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/object_watch.h"

#include <pthread.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"

#define LOOK_MS 1000
/* A client that is not silent finds out by itself within this time, and gets an answer. */
#define GONE_LOOKS 3

struct object_watch {
  pthread_mutex_t mutex;
  pthread_cond_t stopping;
  bool is_stopping;
  struct watched_object *first;
  pthread_t thread;
};

/* The mirror alone is asked, under the lock: it is behind at the beginning, and soon right. */
static bool
is_gone(struct watched_object *watched)
{
  const struct kube_object *object = watched->object;
  CLEANUP(kube_object_releasep)
  struct kube_object *now = kube_mirror_get(watched->mirror, object->ns, object->name);
  bool is_there = now && kube_object_stays(now, object);
  watched->was_seen = watched->was_seen || is_there;
  return watched->was_seen && !is_there;
}

static void
look(struct object_watch *watch)
{
  for (struct watched_object *watched = watch->first; watched; watched = watched->next) {
    if (!is_gone(watched) || ++watched->gone_looks != GONE_LOOKS)
      continue;
    log_info("%s/%s was deleted: its client is cut off", watched->object->ns,
             watched->object->name);
    http_call_cut_off(watched->call);
  }
}

static void *
run(void *arg)
{
  struct object_watch *watch = arg;
  (void)pthread_setname_np(pthread_self(), "deleted");
  MUTEX_GUARD(&watch->mutex);
  while (!watch->is_stopping) {
    struct timespec until = clock_timespec_of_ms(clock_now_ms() + LOOK_MS);
    (void)pthread_cond_timedwait(&watch->stopping, &watch->mutex, &until);
    look(watch);
  }
  return NULL;
}

struct object_watch *
object_watch_start(void)
{
  struct object_watch *watch = xcalloc(1, sizeof(*watch));
  (void)pthread_mutex_init(&watch->mutex, NULL);
  condition_init(&watch->stopping);
  if (pthread_create(&watch->thread, NULL, run, watch) != 0)
    abort(); /* no program runs without its threads */
  return watch;
}

void
object_watch_stop(struct object_watch *watch)
{
  if (!watch)
    return;
  {
    MUTEX_GUARD(&watch->mutex);
    watch->is_stopping = true;
    (void)pthread_cond_signal(&watch->stopping);
  }
  (void)pthread_join(watch->thread, NULL);
  (void)pthread_cond_destroy(&watch->stopping);
  (void)pthread_mutex_destroy(&watch->mutex);
  free(watch);
}

void
object_watch_add(struct object_watch *watch, struct watched_object *watched, struct http_call *call,
                 struct kube_mirror *mirror, struct kube_object *object)
{
  *watched =
      (struct watched_object){.call = call, .mirror = mirror, .object = kube_object_hold(object)};
  (void)is_gone(watched); /* it is there now: who deletes it may be faster than the first look */
  MUTEX_GUARD(&watch->mutex);
  watched->next = watch->first;
  watch->first = watched;
}

void
object_watch_remove(struct object_watch *watch, struct watched_object *watched)
{
  MUTEX_GUARD(&watch->mutex);
  for (struct watched_object **link = &watch->first; *link; link = &(*link)->next) {
    if (*link == watched) {
      *link = watched->next;
      kube_object_release(TAKE(watched->object));
      return;
    }
  }
}
