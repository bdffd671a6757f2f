/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of failure it was, as the number that the program ends with. Scripts go by it, so a
 * number never changes its meaning. */
#ifndef CLI_EXIT_STATUS_H
#define CLI_EXIT_STATUS_H

#include <stddef.h>

#include "lib/base/error.h"

/* The meaning of each status, from 0; --help and the manual show it. */
extern const char *const exit_status_meanings[];
extern const size_t exit_status_count;

int exit_status_of(enum error_code code);

#endif
