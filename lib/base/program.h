/* SPDX-License-Identifier: Apache-2.0 */
/* What every daemon of ours does before anything else. */
#ifndef LIB_BASE_PROGRAM_H
#define LIB_BASE_PROGRAM_H

#include <signal.h>

/* glibc gives each thread a heap of its own, up to eight a core, and hands little of them back. Our
 * threads spend their time waiting, not in malloc: two heaps serve them all. */
void program_bound_memory(void);

/* Signals are taken by main() alone: blocks them, and every thread made later inherits the mask.
 * What is returned is to be waited for; SIGPIPE is not among it. */
sigset_t program_block_signals(void);

#endif
