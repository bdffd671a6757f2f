/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one of the system's own programs (mkfs, fsck, rbd-nbd …) to its end: found in the usual
 * folders, no shell, a limit on its time. It dies with us. */
#ifndef NODEPLUGIN_TOOL_H
#define NODEPLUGIN_TOOL_H

#include <stdint.h>

#include "lib/base/error.h"

/* Where the program is, to be freed; NULL when it is not installed. */
char *tool_find(const char *name);

/* The status of one that a signal ended. */
#define TOOL_KILLED 255

/* argv[0] is its name. *ret_status is its exit status, TOOL_KILLED when a signal ended it;
 * *ret_output what it said, of its errors if there are any, as one line, to be freed. Either may be
 * NULL. FAILED_PRECONDITION when it is not installed, DEADLINE_EXCEEDED when it was killed for its
 * time.
 */
int tool_run(const char *const *argv, int64_t timeout_ms, int *ret_status, char **ret_output,
             struct error **err);
/* The same, and a failure when it ends with another status than 0. */
int tool_must(const char *const *argv, int64_t timeout_ms, struct error **err);

/* The last lines of a program's output as one, to be freed: for messages. */
char *tool_say(int fd);

#endif
