/* SPDX-License-Identifier: Apache-2.0 */
/* Names a process so that a later one on the same machine can tell for sure that it is dead: by
 * boot, pid namespace, pid and start time. Across machines or containers nothing can be told. In a
 * sandbox that hides other processes it takes Linux 6.9 to tell one from a later one with its pid.
 */
#ifndef LIB_BASE_PROCESS_ID_H
#define LIB_BASE_PROCESS_ID_H

#include <stdbool.h>

/* This process, as one word; to be freed. NULL when /proc does not tell. */
char *process_id_self(void);
/* True only if the process named by `text` has certainly ended. */
bool process_id_is_dead(const char *text);
/* True only if it certainly runs. */
bool process_id_is_alive(const char *text);

#endif
