/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/program.h"

#include <malloc.h>
#include <pthread.h>

void
program_bound_memory(void)
{
  (void)mallopt(M_ARENA_MAX, 2);
  (void)mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

sigset_t
program_block_signals(void)
{
  sigset_t set;
  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGTERM);
  (void)sigaddset(&set, SIGINT);
  (void)sigaddset(&set, SIGPIPE);
  (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
  (void)sigdelset(&set, SIGPIPE);
  return set;
}
