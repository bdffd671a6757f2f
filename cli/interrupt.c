/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static struct progress *_Atomic current;

static void
on_signal(int signal)
{
  struct progress *progress = atomic_load(&current);
  if (!progress || atomic_exchange(&progress->is_cancelled, true))
    _exit(128 + signal);
}

void
interrupt_cancels(struct progress *progress)
{
  atomic_store(&current, progress);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(SIGINT, &action, NULL);
  (void)sigaction(SIGTERM, &action, NULL);
}
