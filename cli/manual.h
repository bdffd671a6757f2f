/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages, made from the commands' own tables: they cannot say anything else than what the
 * program does. The build writes them to files (imprint --manual COMMAND). */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include <stdio.h>

#include "cli/command.h"

void manual_print_page(FILE *out, const struct command *command);
/* The page of the program itself. */
void manual_print_overview(FILE *out, const struct command *const *commands, size_t count);

#endif
