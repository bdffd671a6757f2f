/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages and shell completion, made from the commands' own tables: they cannot say anything
 * else than what the program does. The build writes them to files (imprint --manual COMMAND,
 * imprint --completion bash). */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include <stdio.h>

#include "cli/command.h"

/* exit_text is what --help says of the exit status. */
void manual_print_page(FILE *out, const struct command *command, const char *exit_text);
/* The page of the program itself. */
void manual_print_overview(FILE *out, const struct command *const *commands, size_t count,
                           const char *exit_text);
void manual_print_bash_completion(FILE *out, const struct command *const *commands, size_t count);

#endif
