/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/ceph/threads.h"

#include <pthread.h>

#include "tests/unit/unit.h"

struct thread {
  pthread_t handle;
  pthread_barrier_t *begin;
  void (*work)(void *context);
  void *context;
};

static void *
run(void *arg)
{
  struct thread *thread = arg;
  (void)pthread_barrier_wait(thread->begin);
  thread->work(thread->context);
  return NULL;
}

void
threads_run(void (*work)(void *context), void *contexts, size_t size, size_t count)
{
  struct thread threads[THREADS_MAX];
  pthread_barrier_t begin;
  REQUIRE(count > 0 && count <= THREADS_MAX);
  REQUIRE(pthread_barrier_init(&begin, NULL, (unsigned)count) == 0);
  for (size_t i = 0; i < count; i++) {
    threads[i] =
        (struct thread){.begin = &begin, .work = work, .context = (char *)contexts + i * size};
    REQUIRE(pthread_create(&threads[i].handle, NULL, run, &threads[i]) == 0);
  }
  for (size_t i = 0; i < count; i++)
    (void)pthread_join(threads[i].handle, NULL);
  (void)pthread_barrier_destroy(&begin);
}
