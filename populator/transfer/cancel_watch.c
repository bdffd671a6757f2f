/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/cancel_watch.h"

#include <pthread.h>
#include <sys/prctl.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"

#define LOOK_MS 100

struct cancel_watch {
  struct progress *progress;
  void (*cancel)(void *context);
  void *context;
  pthread_t thread;
  pthread_mutex_t mutex; /* guards is_over */
  pthread_cond_t change;
  bool is_over;
};

static void *
watch_main(void *arg)
{
  struct cancel_watch *watch = arg;
  (void)prctl(PR_SET_NAME, "cancel-watch");
  (void)pthread_mutex_lock(&watch->mutex);
  while (!watch->is_over && !atomic_load(&watch->progress->is_cancelled)) {
    struct timespec until = clock_timespec_of_ms(clock_now_ms() + LOOK_MS);
    (void)pthread_cond_timedwait(&watch->change, &watch->mutex, &until);
  }
  bool is_over = watch->is_over;
  (void)pthread_mutex_unlock(&watch->mutex);
  if (!is_over)
    watch->cancel(watch->context);
  return NULL;
}

static void
watch_free(struct cancel_watch *watch)
{
  (void)pthread_mutex_destroy(&watch->mutex);
  (void)pthread_cond_destroy(&watch->change);
  free(watch);
}

struct cancel_watch *
cancel_watch_start(struct progress *progress, void (*cancel)(void *context), void *context)
{
  struct cancel_watch *watch = xcalloc(1, sizeof(*watch));
  watch->progress = progress;
  watch->cancel = cancel;
  watch->context = context;
  (void)pthread_mutex_init(&watch->mutex, NULL);
  condition_init(&watch->change);
  if (pthread_create(&watch->thread, NULL, watch_main, watch) == 0)
    return watch;
  watch_free(watch);
  return NULL;
}

void
cancel_watch_stop(struct cancel_watch *watch)
{
  if (!watch)
    return;
  (void)pthread_mutex_lock(&watch->mutex);
  watch->is_over = true;
  (void)pthread_cond_broadcast(&watch->change);
  (void)pthread_mutex_unlock(&watch->mutex);
  (void)pthread_join(watch->thread, NULL);
  watch_free(watch);
}
