/* SPDX-License-Identifier: Apache-2.0 */
/* A place where threads wait until the test lets them through, and where the test waits until they
 * are there: no test depends on how fast a thread is. */
#ifndef TESTS_UNIT_GATE_H
#define TESTS_UNIT_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/lock.h"

struct gate {
  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t change;
  size_t arrived; /* ever */
  size_t passed;
  bool is_open;
};

static inline void
gate_init(struct gate *gate)
{
  *gate = (struct gate){0};
  (void)pthread_mutex_init(&gate->mutex, NULL);
  condition_init(&gate->change);
}

static inline void
gate_clear(struct gate *gate)
{
  (void)pthread_mutex_destroy(&gate->mutex);
  (void)pthread_cond_destroy(&gate->change);
}

/* Called by the threads. */
static inline void
gate_enter(struct gate *gate)
{
  MUTEX_GUARD(&gate->mutex);
  gate->arrived++;
  (void)pthread_cond_broadcast(&gate->change);
  while (!gate->is_open)
    (void)pthread_cond_wait(&gate->change, &gate->mutex);
  gate->passed++;
  (void)pthread_cond_broadcast(&gate->change);
}

static inline void
gate_open(struct gate *gate)
{
  MUTEX_GUARD(&gate->mutex);
  gate->is_open = true;
  (void)pthread_cond_broadcast(&gate->change);
}

static inline void
gate_wait_arrived(struct gate *gate, size_t count)
{
  MUTEX_GUARD(&gate->mutex);
  while (gate->arrived < count)
    (void)pthread_cond_wait(&gate->change, &gate->mutex);
}

static inline void
gate_wait_passed(struct gate *gate, size_t count)
{
  MUTEX_GUARD(&gate->mutex);
  while (gate->passed < count)
    (void)pthread_cond_wait(&gate->change, &gate->mutex);
}

static inline size_t
gate_arrived(struct gate *gate)
{
  MUTEX_GUARD(&gate->mutex);
  return gate->arrived;
}

#endif
