/* SPDX-License-Identifier: Apache-2.0 */
/* The command as the worker of another program: `imprint VERB --job` takes its flags and arguments
 * as one JSON object on standard input, {"arguments": […], "flag-name": value, …}, secrets
 * included, and ends with an object on standard output that tells what came of it. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stddef.h>

#include "lib/base/error.h"

/* All of standard input; to be freed. */
int job_read(char **ret_json, size_t *ret_len, struct error **err);
/* {"event":"failed","code":5,"reason":"NOT_FOUND","message":"…"} */
void job_print_failure(const struct error *failure);

#endif
