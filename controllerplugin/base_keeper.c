/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/base_keeper.h"

#include <pthread.h>
#include <stdlib.h>

#include "controllerplugin/base_use.h"
#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"

/* Between two looks: a part of the time that they are kept, and never longer than this. */
#define PERIOD_MAX_S 600
#define PERIODS 4
#define STACK_BYTES ((size_t)512 << 10)

struct base_keeper {
  struct controller *controller;
  int64_t keep_s;
  pthread_t thread;
  pthread_mutex_t mutex; /* of what follows */
  pthread_cond_t change;
  bool is_stopping;
  bool is_over;
};

static int64_t
period_ms(int64_t keep_s)
{
  int64_t period_s = keep_s / PERIODS < PERIOD_MAX_S ? keep_s / PERIODS : PERIOD_MAX_S;
  return (period_s < 1 ? 1 : period_s) * 1000;
}

static void
sweep_cluster(struct base_keeper *keeper, const char *id)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  struct locations locations;
  if (clusters_get(keeper->controller->clusters, id, &cluster, NULL) < 0 ||
      locations_list(cluster, &locations, NULL) < 0)
    return; /* whoever wants something of it tells of that */
  for (size_t i = 0; i < locations.count; i++) {
    if (!atomic_load(&keeper->controller->is_stopping))
      base_use_sweep(keeper->controller, locations.items[i], keeper->keep_s);
  }
  locations_clear(&locations);
}

static void
sweep(struct base_keeper *keeper)
{
  struct cluster_ids ids;
  clusters_ids(keeper->controller->clusters, &ids);
  for (size_t i = 0; i < ids.count; i++)
    sweep_cluster(keeper, ids.ids[i]);
  cluster_ids_clear(&ids);
}

/* False when it is to stop. */
static bool
pause_between(struct base_keeper *keeper)
{
  struct timespec until = clock_timespec_of_ms(clock_now_ms() + period_ms(keeper->keep_s));
  MUTEX_GUARD(&keeper->mutex);
  while (!keeper->is_stopping &&
         pthread_cond_timedwait(&keeper->change, &keeper->mutex, &until) == 0)
    ;
  return !keeper->is_stopping;
}

static void *
run(void *arg)
{
  struct base_keeper *keeper = arg;
  (void)pthread_setname_np(pthread_self(), "base-keeper");
  while (pause_between(keeper))
    sweep(keeper);
  MUTEX_GUARD(&keeper->mutex);
  keeper->is_over = true;
  (void)pthread_cond_broadcast(&keeper->change);
  return NULL;
}

struct base_keeper *
base_keeper_start(struct controller *controller, int64_t keep_s)
{
  if (keep_s == 0)
    return NULL;
  struct base_keeper *keeper = xcalloc(1, sizeof(*keeper));
  keeper->controller = controller;
  keeper->keep_s = keep_s;
  (void)pthread_mutex_init(&keeper->mutex, NULL);
  condition_init(&keeper->change);
  pthread_attr_t attr;
  (void)pthread_attr_init(&attr);
  (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
  if (pthread_create(&keeper->thread, &attr, run, keeper) != 0)
    abort(); /* no program runs without its threads */
  (void)pthread_attr_destroy(&attr);
  return keeper;
}

bool
base_keeper_stop(struct base_keeper *keeper, int64_t deadline_ms)
{
  if (!keeper)
    return true;
  struct timespec until = clock_timespec_of_ms(deadline_ms);
  MUTEX_GUARD(&keeper->mutex);
  keeper->is_stopping = true;
  (void)pthread_cond_broadcast(&keeper->change);
  while (!keeper->is_over && pthread_cond_timedwait(&keeper->change, &keeper->mutex, &until) == 0)
    ;
  return keeper->is_over;
}

void
base_keeper_free(struct base_keeper *keeper)
{
  if (!keeper)
    return;
  (void)pthread_join(keeper->thread, NULL);
  (void)pthread_mutex_destroy(&keeper->mutex);
  (void)pthread_cond_destroy(&keeper->change);
  free(keeper);
}
