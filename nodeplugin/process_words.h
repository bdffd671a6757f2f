/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of other processes. */
#ifndef NODEPLUGIN_PROCESS_WORDS_H
#define NODEPLUGIN_PROCESS_WORDS_H

#include <stdbool.h>

/* The first word of a process that begins with a prefix, to be freed; NULL when it has none. pid as
 * text, as sysfs and /proc have it. */
char *process_words_find(const char *pid, const char *prefix);
bool process_words_has(const char *pid, const char *word);

#endif
