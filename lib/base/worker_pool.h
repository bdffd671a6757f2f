/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that run jobs, made when they are needed and gone when they are not.
 * A job may block for long (a Ceph call while an OSD is down); the pool then grows up to its limit,
 * and further jobs wait in a queue. */
#ifndef LIB_BASE_WORKER_POOL_H
#define LIB_BASE_WORKER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/cleanup.h"

struct worker_pool;

/* Embedded in what is to be done; owned by the submitter until run() is called, by run() after. */
struct job {
  void (*run)(struct job *job);
  struct job *next;
};

/* `name` shows up as the thread name; not copied. At most max_threads run, at most max_queued wait.
 */
struct worker_pool *worker_pool_new(const char *name, size_t max_threads, size_t max_queued);
/* False when the queue is full or the pool is stopping: the job stays with the caller. */
bool worker_pool_submit(struct worker_pool *pool, struct job *job);
/* How many jobs run or wait. */
size_t worker_pool_busy(struct worker_pool *pool);
/* No new jobs are taken; waits until those taken are done, at most until deadline_ms of clock.h.
 * False when some still run then: the pool must not be freed. */
bool worker_pool_stop(struct worker_pool *pool, int64_t deadline_ms);
/* After worker_pool_stop() returned true. */
void worker_pool_free(struct worker_pool *pool);

#endif
