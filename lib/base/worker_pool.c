/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/worker_pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"

/* An idle thread keeps a little memory of the allocator's; this long it may be wanted again. */
#define IDLE_MS 10000
/* librbd's deepest call chains were seen to use less than 64 KiB; the rest is headroom. */
#define STACK_BYTES ((size_t)512 * 1024)

struct worker_pool {
  const char *name;
  size_t max_threads;
  size_t max_queued;

  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t work;   /* a job was queued, or the pool stops */
  pthread_cond_t change; /* a thread ended */
  struct job *head, *tail;
  size_t queued;
  size_t threads;
  size_t running; /* threads that have a job; the others will come for one */
  bool stopping;
};

struct worker_pool *
worker_pool_new(const char *name, size_t max_threads, size_t max_queued)
{
  struct worker_pool *pool = xcalloc(1, sizeof(*pool));
  pool->name = name;
  pool->max_threads = max_threads;
  pool->max_queued = max_queued;
  (void)pthread_mutex_init(&pool->mutex, NULL);
  condition_init(&pool->work);
  condition_init(&pool->change);
  return pool;
}

static struct job *
pop_job(struct worker_pool *pool)
{
  struct job *job = pool->head;
  if (!job)
    return NULL;
  pool->head = job->next;
  if (!pool->head)
    pool->tail = NULL;
  pool->queued--;
  return job;
}

/* The next job, or NULL when this thread should end. Called with the mutex held. */
static struct job *
wait_for_job(struct worker_pool *pool)
{
  struct timespec until = clock_timespec_of_ms(clock_now_ms() + IDLE_MS);
  for (;;) {
    struct job *job = pop_job(pool);
    if (job || pool->stopping)
      return job;
    if (pthread_cond_timedwait(&pool->work, &pool->mutex, &until) == ETIMEDOUT)
      return pop_job(pool);
  }
}

static void *
thread_main(void *arg)
{
  struct worker_pool *pool = arg;
  (void)prctl(PR_SET_NAME, pool->name);
  (void)pthread_mutex_lock(&pool->mutex);
  for (;;) {
    struct job *job = wait_for_job(pool);
    if (!job)
      break;
    pool->running++;
    (void)pthread_mutex_unlock(&pool->mutex);
    job->run(job);
    (void)pthread_mutex_lock(&pool->mutex);
    pool->running--;
  }
  pool->threads--;
  (void)pthread_cond_broadcast(&pool->change);
  (void)pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

/* Called with the mutex held. */
static bool
start_thread(struct worker_pool *pool)
{
  pthread_attr_t attr;
  (void)pthread_attr_init(&attr);
  (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
  pthread_t thread;
  int r = pthread_create(&thread, &attr, thread_main, pool);
  (void)pthread_attr_destroy(&attr);
  if (r != 0)
    return false;
  pool->threads++;
  return true;
}

/* A queued job that a thread is still on its way to does not count as waiting. Called with the
 * mutex held. */
static bool
is_full(const struct worker_pool *pool)
{
  size_t free_threads = pool->max_threads - pool->running;
  return pool->queued >= free_threads && pool->queued - free_threads >= pool->max_queued;
}

bool
worker_pool_submit(struct worker_pool *pool, struct job *job)
{
  MUTEX_GUARD(&pool->mutex);
  if (pool->stopping || is_full(pool))
    return false;
  bool all_taken = pool->queued >= pool->threads - pool->running;
  if (all_taken && pool->threads < pool->max_threads && !start_thread(pool) && pool->threads == 0)
    return false;
  job->next = NULL;
  if (pool->tail)
    pool->tail->next = job;
  else
    pool->head = job;
  pool->tail = job;
  pool->queued++;
  (void)pthread_cond_signal(&pool->work);
  return true;
}

size_t
worker_pool_busy(struct worker_pool *pool)
{
  MUTEX_GUARD(&pool->mutex);
  return pool->running + pool->queued;
}

bool
worker_pool_stop(struct worker_pool *pool, int64_t deadline_ms)
{
  struct timespec until = clock_timespec_of_ms(deadline_ms);
  MUTEX_GUARD(&pool->mutex);
  pool->stopping = true;
  (void)pthread_cond_broadcast(&pool->work);
  while (pool->threads > 0) {
    if (pthread_cond_timedwait(&pool->change, &pool->mutex, &until) == ETIMEDOUT)
      return pool->threads == 0;
  }
  return true;
}

void
worker_pool_free(struct worker_pool *pool)
{
  if (!pool)
    return;
  assert(pool->threads == 0);
  (void)pthread_mutex_destroy(&pool->mutex);
  (void)pthread_cond_destroy(&pool->work);
  (void)pthread_cond_destroy(&pool->change);
  free(pool);
}
