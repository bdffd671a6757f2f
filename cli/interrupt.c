/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/failure.h"

/* To stop in order takes a moment, unless somebody who has to answer is away. */
#define STOP_S 10

static struct progress *_Atomic current;
static sem_t was_told;

static void
on_signal(int signal)
{
  struct progress *progress = atomic_load(&current);
  if (!progress || atomic_exchange(&progress->is_cancelled, true))
    _exit(128 + signal);
  (void)sem_post(&was_told);
}

/* Writes to an OSD that is away are answered when it is back, and neither librbd nor the buffers
 * that it holds can be left before. What a checkpoint tells of is safe, so the process can. */
static void *
lose_patience(void *arg)
{
  (void)arg;
  (void)prctl(PR_SET_NAME, "interrupt");
  while (sem_wait(&was_told) < 0 && errno == EINTR)
    ;
  (void)sleep(STOP_S);
  CLEANUP(error_freep) struct error *err = NULL;
  (void)error_set(&err, ERROR_CANCELLED,
                  "stopped; somebody did not answer for %d s, so what was under way is left as it "
                  "stands: call again",
                  STOP_S);
  failure_end(err);
  return NULL;
}

void
interrupt_cancels(struct progress *progress)
{
  pthread_t thread;
  (void)sem_init(&was_told, 0, 0);
  if (pthread_create(&thread, NULL, lose_patience, NULL) == 0)
    (void)pthread_detach(thread);
  atomic_store(&current, progress);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(SIGINT, &action, NULL);
  (void)sigaction(SIGTERM, &action, NULL);
}
