/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of other processes. */
#ifndef NODEPLUGIN_PROCESS_WORDS_H
#define NODEPLUGIN_PROCESS_WORDS_H

#include <stdbool.h>
#include <sys/types.h>

/* The first word of a process that begins with a prefix, to be freed; NULL when it has none. pid as
 * text, as sysfs and /proc have it. */
char *process_words_find(const char *pid, const char *prefix);
bool process_words_has(pid_t pid, const char *word);
/* A process that has the word, the next one above `after`; 0 when there is none. */
pid_t process_words_search(const char *word, pid_t after);

#endif
