/* SPDX-License-Identifier: Apache-2.0 */
/* The file lock that a process which serves a volume holds as long as it lives: whoever gets it
 * knows that there is none. */
#ifndef NODEPLUGIN_HELPER_LOCK_H
#define NODEPLUGIN_HELPER_LOCK_H

#include <stdbool.h>

/* Takes the lock of an open file, and the descriptor: it comes back with the lock, or is closed
 * after half a second of trying, and -1 and errno tell why. A descriptor of -1 passes, with its
 * errno. */
int helper_lock_take(int fd);
/* Whether a process has it, of an open file or -1. Any number may look at a time, and a looker does
 * not keep a process from starting. */
bool helper_lock_is_held(int fd);

#endif
