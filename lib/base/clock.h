/* SPDX-License-Identifier: Apache-2.0 */
/* Time for measuring and waiting: monotonic, in milliseconds. Never for showing to a person. */
#ifndef LIB_BASE_CLOCK_H
#define LIB_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_NEVER_MS INT64_MAX

static inline int64_t
clock_now_ms(void)
{
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* For pthread_cond_timedwait on a condition made with condition_init(). */
static inline struct timespec
clock_timespec_of_ms(int64_t at_ms)
{
  return (struct timespec){.tv_sec = at_ms / 1000, .tv_nsec = (at_ms % 1000) * 1000000};
}

#endif
