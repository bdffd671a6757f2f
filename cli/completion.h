/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for shells, made from the commands' own tables (imprint --completion SHELL). What a
 * flag takes is told by the name of its argument: "FILE" is a file, "qcow2|raw" one of these. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include <stdio.h>

#include "cli/command.h"

/* False: it is not for bash, zsh or fish. */
bool completion_print(FILE *out, const char *shell, const struct command *const *commands,
                      size_t count);

#endif
