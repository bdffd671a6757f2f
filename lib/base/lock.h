/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex held for a scope: `MUTEX_GUARD(&x->mutex);` unlocks on every way out; and conditions that
 * wait by the monotonic clock of clock.h. */
#ifndef LIB_BASE_LOCK_H
#define LIB_BASE_LOCK_H

#include <pthread.h>
#include <time.h>

#include "lib/base/cleanup.h"

static inline pthread_mutex_t *
mutex_lock(pthread_mutex_t *mutex)
{
  (void)pthread_mutex_lock(mutex);
  return mutex;
}

static inline void
mutex_unlockp(pthread_mutex_t **mutex)
{
  if (*mutex)
    (void)pthread_mutex_unlock(*mutex);
}

#define MUTEX_GUARD_NAME2(line) mutex_guard_##line
#define MUTEX_GUARD_NAME(line) MUTEX_GUARD_NAME2(line)
#define MUTEX_GUARD(mutex)                                                                         \
  CLEANUP(mutex_unlockp)                                                                           \
  pthread_mutex_t *MUTEX_GUARD_NAME(__LINE__) __attribute__((unused)) = mutex_lock(mutex)

static inline void
condition_init(pthread_cond_t *condition)
{
  pthread_condattr_t attr;
  (void)pthread_condattr_init(&attr);
  (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  (void)pthread_cond_init(condition, &attr);
  (void)pthread_condattr_destroy(&attr);
}

#endif
