/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/measure.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"

#define FIRST_PAUSE_MS 50
#define LONGEST_PAUSE_MS 2000

/* One run, shared by its threads. */
struct run {
  const struct measure_spec *spec;
  measure_operation *operation;
  void *context;
  int64_t end_ms; /* by the cap */
  atomic_size_t next;
  pthread_mutex_t mutex; /* guards the result */
  struct measurement *result;
};

static double
now_fine_ms(void)
{
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void
pause_ms(int64_t ms)
{
  struct timespec ts = clock_timespec_of_ms(ms);
  (void)nanosleep(&ts, NULL);
}

static bool
is_worth_retrying(const struct error *err)
{
  return err->code == ERROR_ABORTED || err->code == ERROR_UNAVAILABLE;
}

enum outcome { SUCCEEDED, FAILED, UNFINISHED };

/* Until it succeeds, fails for good, or the time is over. */
static enum outcome
try_until(struct run *run, size_t index, size_t *ret_retries, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + run->spec->timeout_ms;
  int64_t next_pause_ms = FIRST_PAUSE_MS;
  for (;;) {
    int64_t left_ms = deadline_ms - clock_now_ms();
    if (run->operation(run->context, index, left_ms > 1 ? left_ms : 1, err) == 0)
      return SUCCEEDED;
    int64_t resume_ms = clock_now_ms() + next_pause_ms;
    if (!is_worth_retrying(*err) || resume_ms > deadline_ms)
      return FAILED;
    ++*ret_retries;
    if (resume_ms > run->end_ms)
      return UNFINISHED;
    error_free(TAKE(*err));
    pause_ms(next_pause_ms);
    next_pause_ms = next_pause_ms * 2 < LONGEST_PAUSE_MS ? next_pause_ms * 2 : LONGEST_PAUSE_MS;
  }
}

static void
run_one(struct run *run, size_t index)
{
  CLEANUP(error_freep) struct error *err = NULL;
  size_t retries = 0;
  double start_ms = now_fine_ms();
  enum outcome outcome = try_until(run, index, &retries, &err);
  double took_ms = now_fine_ms() - start_ms;

  MUTEX_GUARD(&run->mutex);
  struct measurement *result = run->result;
  result->retries += retries;
  if (outcome == SUCCEEDED)
    result->sorted_ms[result->succeeded++] = took_ms;
  else if (outcome == UNFINISHED)
    result->unfinished++;
  else
    result->failed++;
  if (outcome == FAILED && !result->first_error)
    result->first_error = xasprintf("%s: %s", error_code_name((int)err->code), err->message);
}

static void *
thread_main(void *arg)
{
  struct run *run = arg;
  size_t index;
  while ((index = atomic_fetch_add(&run->next, 1)) < run->spec->count) {
    if (clock_now_ms() > run->end_ms) {
      MUTEX_GUARD(&run->mutex);
      run->result->unfinished++;
      continue;
    }
    run_one(run, index);
  }
  return NULL;
}

static int
compare_doubles(const void *a, const void *b)
{
  double left = *(const double *)a;
  double right = *(const double *)b;
  return (left > right) - (left < right);
}

void
measure_run(const struct measure_spec *spec, measure_operation *operation, void *context,
            struct measurement *ret_measurement)
{
  *ret_measurement = (struct measurement){
      .sorted_ms = xcalloc(spec->count ? spec->count : 1, sizeof(double)),
  };
  struct run run = {.spec = spec,
                    .operation = operation,
                    .context = context,
                    .end_ms = clock_now_ms() + spec->cap_ms,
                    .result = ret_measurement};
  (void)pthread_mutex_init(&run.mutex, NULL);
  CLEANUP(freep) pthread_t *threads = xcalloc(spec->in_flight, sizeof(pthread_t));
  double start_ms = now_fine_ms();
  unsigned started = 0;
  while (started < spec->in_flight &&
         pthread_create(&threads[started], NULL, thread_main, &run) == 0)
    started++;
  if (started == 0)
    (void)thread_main(&run);
  for (unsigned i = 0; i < started; i++)
    (void)pthread_join(threads[i], NULL);
  ret_measurement->seconds = (now_fine_ms() - start_ms) / 1e3;
  (void)pthread_mutex_destroy(&run.mutex);
  qsort(ret_measurement->sorted_ms, ret_measurement->succeeded, sizeof(double), compare_doubles);
}

double
measurement_percentile_ms(const struct measurement *measurement, double share)
{
  if (measurement->succeeded == 0)
    return 0;
  double rank = ceil(share * (double)measurement->succeeded);
  return measurement->sorted_ms[rank < 1 ? 0 : (size_t)rank - 1];
}

void
measurement_clear(struct measurement *measurement)
{
  free(measurement->sorted_ms);
  free(measurement->first_error);
  *measurement = (struct measurement){0};
}
