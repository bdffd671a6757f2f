/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls that a transfer may make: what librados, librbd, libcurl, libnbd, the C library
 * and our own threads need, found by running them; connections are connect_guard.h's. */
#ifndef POPULATOR_TRANSFER_SANDBOX_CALLS_H
#define POPULATOR_TRANSFER_SANDBOX_CALLS_H

#include "lib/sandbox/syscall_filter.h"

void sandbox_calls_add(struct syscall_filter *filter);

#endif
