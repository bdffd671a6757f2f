/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/worker_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "tests/unit/gate.h"
#include "tests/unit/unit.h"

/* The linker leads every clock_gettime() of this program here (see CMakeLists.txt): a clock that is
 * behind makes a time-out that is counted from it come sooner. */
static atomic_int_fast64_t behind_ms;

int real_clock_gettime(clockid_t clock, struct timespec *ts) __asm__("__real_clock_gettime");
int late_clock_gettime(clockid_t clock, struct timespec *ts) __asm__("__wrap_clock_gettime");

int
late_clock_gettime(clockid_t clock, struct timespec *ts)
{
  int r = real_clock_gettime(clock, ts);
  int64_t late_ms = atomic_load(&behind_ms);
  ts->tv_sec -= late_ms / 1000;
  return r;
}

struct work {
  struct job job;
  struct gate *gate;
  atomic_int *done;
  pid_t thread;
  char thread_name[16];
};

static void
run_work(struct job *job)
{
  struct work *work = (struct work *)job;
  work->thread = (pid_t)syscall(SYS_gettid);
  (void)prctl(PR_GET_NAME, work->thread_name);
  if (work->gate)
    gate_enter(work->gate);
  if (work->done)
    atomic_fetch_add(work->done, 1);
}

static bool
thread_exists(pid_t thread)
{
  CLEANUP(freep) char *task = xasprintf("/proc/self/task/%d", (int)thread);
  return access(task, F_OK) == 0;
}

static void
wait_idle(struct worker_pool *pool)
{
  struct timespec pause = {.tv_nsec = 200000};
  while (worker_pool_busy(pool) > 0)
    (void)nanosleep(&pause, NULL);
}

static bool
stop_within(struct worker_pool *pool, int64_t ms)
{
  return worker_pool_stop(pool, clock_now_ms() + ms);
}

static void
stop_and_free(struct worker_pool *pool)
{
  bool has_stopped = stop_within(pool, 20000);
  CU_ASSERT(has_stopped);
  if (has_stopped)
    worker_pool_free(pool);
}

static void
test_every_job_is_run_once(void)
{
  enum { JOBS = 500 };
  static struct work works[JOBS];
  atomic_int done = 0;
  struct worker_pool *pool = worker_pool_new("test", 4, JOBS);
  unsigned taken = 0;
  for (int i = 0; i < JOBS; i++) {
    works[i] = (struct work){.job.run = run_work, .done = &done};
    taken += worker_pool_submit(pool, &works[i].job);
  }
  CHECK_NUMBER(taken, JOBS);
  stop_and_free(pool); /* those that wait are done before it stops */
  CHECK_NUMBER(done, JOBS);
}

static void
test_jobs_run_in_the_order_they_came(void)
{
  enum { JOBS = 50 };
  static struct work works[JOBS];
  struct gate gate;
  gate_init(&gate);
  struct worker_pool *pool = worker_pool_new("test", 1, JOBS);
  for (int i = 0; i < JOBS; i++) {
    works[i] = (struct work){.job.run = run_work, .gate = i == 0 ? &gate : NULL};
    CU_ASSERT(worker_pool_submit(pool, &works[i].job));
  }
  gate_wait_arrived(&gate, 1);
  CHECK_NUMBER(worker_pool_busy(pool), JOBS);
  CHECK_NUMBER(works[1].thread, 0); /* it waits behind the first */
  gate_open(&gate);
  stop_and_free(pool);
  for (int i = 0; i < JOBS; i++)
    CHECK_NUMBER(works[i].thread, works[0].thread);
  gate_clear(&gate);
}

static void
test_the_pool_grows_while_jobs_block_and_no_further_than_its_limit(void)
{
  struct work works[6] = {0};
  struct gate gate;
  gate_init(&gate);
  struct worker_pool *pool = worker_pool_new("test", 4, 10);
  for (int i = 0; i < 6; i++) {
    works[i] = (struct work){.job.run = run_work, .gate = &gate};
    CU_ASSERT(worker_pool_submit(pool, &works[i].job));
  }
  gate_wait_arrived(&gate, 4);
  CHECK_NUMBER(worker_pool_busy(pool), 6);
  CHECK_NUMBER(gate_arrived(&gate), 4);
  gate_open(&gate);
  gate_wait_passed(&gate, 6);
  stop_and_free(pool);
  gate_clear(&gate);
}

/* Whether threads have come to their jobs yet must not matter: a burst is when it counts. */
static void
test_a_burst_fills_threads_and_queue_exactly(void)
{
  unsigned refused_early = 0, taken_too_many = 0;
  for (int round = 0; round < 100; round++) {
    struct work works[6] = {0};
    struct gate gate;
    gate_init(&gate);
    struct worker_pool *pool = worker_pool_new("test", 2, 3);
    for (int i = 0; i < 5; i++) {
      works[i] = (struct work){.job.run = run_work, .gate = &gate};
      refused_early += !worker_pool_submit(pool, &works[i].job);
    }
    works[5].job.run = run_work;
    taken_too_many += worker_pool_submit(pool, &works[5].job);
    gate_open(&gate);
    stop_and_free(pool);
    gate_clear(&gate);
  }
  CHECK_NUMBER(refused_early, 0);
  CHECK_NUMBER(taken_too_many, 0);
}

static void
test_a_burst_onto_idle_threads_fills_them_exactly(void)
{
  unsigned refused_early = 0, taken_too_many = 0;
  struct worker_pool *pool = worker_pool_new("test", 2, 1);
  for (int round = 0; round < 200; round++) {
    struct work works[4] = {0};
    struct gate gate;
    gate_init(&gate);
    for (int i = 0; i < 3; i++) {
      works[i] = (struct work){.job.run = run_work, .gate = &gate};
      refused_early += !worker_pool_submit(pool, &works[i].job);
    }
    works[3].job.run = run_work;
    taken_too_many += worker_pool_submit(pool, &works[3].job);
    gate_open(&gate);
    wait_idle(pool);
    gate_clear(&gate);
  }
  CHECK_NUMBER(refused_early, 0);
  CHECK_NUMBER(taken_too_many, 0);
  stop_and_free(pool);
}

static void
test_a_full_pool_leaves_the_job_with_the_caller(void)
{
  struct work blocking = {.job.run = run_work}, waiting = {.job.run = run_work};
  struct work refused = {.job.run = run_work};
  struct gate gate;
  gate_init(&gate);
  blocking.gate = &gate;
  struct worker_pool *pool = worker_pool_new("test", 1, 1);
  CU_ASSERT(worker_pool_submit(pool, &blocking.job));
  gate_wait_arrived(&gate, 1);
  CU_ASSERT(worker_pool_submit(pool, &waiting.job));
  CU_ASSERT_FALSE(worker_pool_submit(pool, &refused.job));
  CHECK_NUMBER(worker_pool_busy(pool), 2);
  gate_open(&gate);
  wait_idle(pool);
  CHECK_NUMBER(refused.thread, 0);
  CU_ASSERT(worker_pool_submit(pool, &refused.job)); /* there is room again */
  stop_and_free(pool);
  CU_ASSERT_NOT_EQUAL(refused.thread, 0);
  gate_clear(&gate);
}

static void
test_a_pool_without_a_queue_takes_what_runs(void)
{
  struct work works[3] = {0};
  struct gate gate;
  gate_init(&gate);
  struct worker_pool *pool = worker_pool_new("test", 2, 0);
  for (int i = 0; i < 3; i++) {
    works[i] = (struct work){.job.run = run_work, .gate = &gate};
    CU_ASSERT_EQUAL(worker_pool_submit(pool, &works[i].job), i < 2);
  }
  gate_open(&gate);
  stop_and_free(pool);
  gate_clear(&gate);
}

static void
test_a_queue_may_be_without_limit(void)
{
  enum { JOBS = 1000 };
  static struct work works[JOBS];
  atomic_int done = 0;
  struct worker_pool *pool = worker_pool_new("test", 2, SIZE_MAX);
  for (int i = 0; i < JOBS; i++) {
    works[i] = (struct work){.job.run = run_work, .done = &done};
    CU_ASSERT(worker_pool_submit(pool, &works[i].job));
  }
  stop_and_free(pool);
  CHECK_NUMBER(done, JOBS);
}

static void
test_busy_counts_each_job_once(void)
{
  unsigned wrong = 0;
  for (int round = 0; round < 200; round++) {
    struct work work = {.job.run = run_work};
    struct gate gate;
    gate_init(&gate);
    work.gate = &gate;
    struct worker_pool *pool = worker_pool_new("test", 2, 2);
    wrong += worker_pool_busy(pool) != 0;
    CU_ASSERT(worker_pool_submit(pool, &work.job));
    wrong += worker_pool_busy(pool) != 1; /* the thread may or may not have come to it */
    gate_wait_arrived(&gate, 1);
    wrong += worker_pool_busy(pool) != 1;
    gate_open(&gate);
    stop_and_free(pool);
    gate_clear(&gate);
  }
  CHECK_NUMBER(wrong, 0);
}

static void
test_an_idle_thread_is_used_again(void)
{
  struct work works[20] = {0};
  struct worker_pool *pool = worker_pool_new("test", 8, 8);
  for (int i = 0; i < 20; i++) {
    works[i].job.run = run_work;
    CU_ASSERT(worker_pool_submit(pool, &works[i].job));
    wait_idle(pool);
  }
  for (int i = 1; i < 20; i++)
    CHECK_NUMBER(works[i].thread, works[0].thread);
  stop_and_free(pool);
}

static void
test_a_thread_that_stays_idle_ends(void)
{
  struct work first = {.job.run = run_work}, second = {.job.run = run_work};
  struct worker_pool *pool = worker_pool_new("test", 2, 2);
  atomic_store(&behind_ms, 10000); /* idle time, counted from then, is over at once */
  CU_ASSERT(worker_pool_submit(pool, &first.job));
  wait_idle(pool);
  struct timespec pause = {.tv_nsec = 1000000};
  int waited_ms = 0;
  while (thread_exists(first.thread) && waited_ms++ < 5000)
    (void)nanosleep(&pause, NULL);
  atomic_store(&behind_ms, 0);
  CU_ASSERT_FALSE(thread_exists(first.thread));
  CHECK_NUMBER(worker_pool_busy(pool), 0);
  CU_ASSERT(worker_pool_submit(pool, &second.job)); /* a new one is made when it is needed */
  stop_and_free(pool);
  CU_ASSERT(first.thread != 0 && second.thread != 0);
}

static void
test_threads_carry_the_name_of_the_pool(void)
{
  struct work work = {.job.run = run_work};
  struct worker_pool *pool = worker_pool_new("rpc-worker", 1, 1);
  CU_ASSERT(worker_pool_submit(pool, &work.job));
  stop_and_free(pool);
  CHECK_STRING(work.thread_name, "rpc-worker");
}

static void
test_stop_gives_up_on_a_stuck_job_at_its_deadline(void)
{
  struct work stuck = {.job.run = run_work}, later = {.job.run = run_work};
  struct gate gate;
  gate_init(&gate);
  stuck.gate = &gate;
  struct worker_pool *pool = worker_pool_new("test", 2, 2);
  CU_ASSERT(worker_pool_submit(pool, &stuck.job));
  gate_wait_arrived(&gate, 1);
  int64_t before_ms = clock_now_ms();
  CU_ASSERT_FALSE(stop_within(pool, 100));
  int64_t took_ms = clock_now_ms() - before_ms;
  CU_ASSERT(took_ms >= 99 && took_ms < 5000);
  CHECK_NUMBER(worker_pool_busy(pool), 1);
  CU_ASSERT_FALSE(worker_pool_submit(pool, &later.job));
  gate_open(&gate);
  stop_and_free(pool); /* once it has come loose, stopping works */
  gate_clear(&gate);
}

static void
test_stop_does_not_wait_for_idle_threads_to_time_out(void)
{
  struct work works[3] = {0};
  struct worker_pool *pool = worker_pool_new("test", 3, 3);
  for (int i = 0; i < 3; i++) {
    works[i].job.run = run_work;
    CU_ASSERT(worker_pool_submit(pool, &works[i].job));
  }
  wait_idle(pool);
  int64_t before_ms = clock_now_ms();
  stop_and_free(pool);
  CU_ASSERT(clock_now_ms() - before_ms < 5000);
}

static void
test_an_unused_pool_stops_at_once(void)
{
  struct worker_pool *pool = worker_pool_new("test", 3, 3);
  CU_ASSERT(worker_pool_stop(pool, clock_now_ms()));
  struct work refused = {.job.run = run_work};
  CU_ASSERT_FALSE(worker_pool_submit(pool, &refused.job));
  worker_pool_free(pool);
  worker_pool_free(NULL);
}

struct submitter {
  struct worker_pool *pool;
  atomic_int *done;
  struct work works[200];
  unsigned taken;
};

static void *
submit_many(void *arg)
{
  struct submitter *self = arg;
  for (int i = 0; i < 200; i++) {
    self->works[i] = (struct work){.job.run = run_work, .done = self->done};
    self->taken += worker_pool_submit(self->pool, &self->works[i].job);
  }
  return NULL;
}

static void
test_several_threads_may_submit(void)
{
  static struct submitter submitters[4];
  atomic_int done = 0;
  struct worker_pool *pool = worker_pool_new("test", 3, 50);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    submitters[i] = (struct submitter){.pool = pool, .done = &done};
    REQUIRE(pthread_create(&threads[i], NULL, submit_many, &submitters[i]) == 0);
  }
  unsigned taken = 0;
  for (int i = 0; i < 4; i++) {
    (void)pthread_join(threads[i], NULL);
    taken += submitters[i].taken;
  }
  stop_and_free(pool);
  CHECK_NUMBER(done, taken);
  CU_ASSERT(taken >= 53);
}

UNIT_MAIN("lib/base/worker_pool", UNIT_TEST(test_every_job_is_run_once),
          UNIT_TEST(test_jobs_run_in_the_order_they_came),
          UNIT_TEST(test_the_pool_grows_while_jobs_block_and_no_further_than_its_limit),
          UNIT_TEST(test_a_burst_fills_threads_and_queue_exactly),
          UNIT_TEST(test_a_burst_onto_idle_threads_fills_them_exactly),
          UNIT_TEST(test_a_full_pool_leaves_the_job_with_the_caller),
          UNIT_TEST(test_a_pool_without_a_queue_takes_what_runs),
          UNIT_TEST(test_a_queue_may_be_without_limit), UNIT_TEST(test_busy_counts_each_job_once),
          UNIT_TEST(test_an_idle_thread_is_used_again),
          UNIT_TEST(test_a_thread_that_stays_idle_ends),
          UNIT_TEST(test_threads_carry_the_name_of_the_pool),
          UNIT_TEST(test_stop_gives_up_on_a_stuck_job_at_its_deadline),
          UNIT_TEST(test_stop_does_not_wait_for_idle_threads_to_time_out),
          UNIT_TEST(test_an_unused_pool_stops_at_once), UNIT_TEST(test_several_threads_may_submit))
