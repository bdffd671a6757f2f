/* SPDX-License-Identifier: Apache-2.0 */
/* How a command that failed says so: in words, as an object for a program that has started it as a
 * job, and by its exit status. */
#ifndef CLI_FAILURE_H
#define CLI_FAILURE_H

#include "lib/base/error.h"

/* From now on it is told to the program that has started us, too. */
void failure_is_of_a_job(void);
/* The exit status. */
int failure_report(const struct error *err);
/* Ends the process where it stands. */
void failure_end(const struct error *err);

#endif
