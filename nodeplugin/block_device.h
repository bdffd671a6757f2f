/* SPDX-License-Identifier: Apache-2.0 */
/* A block device by its path: what it is, how large, whether anybody has it. */
#ifndef NODEPLUGIN_BLOCK_DEVICE_H
#define NODEPLUGIN_BLOCK_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"

/* Its number; FAILED_PRECONDITION when the path is no block device. */
int block_device_number(const char *path, dev_t *ret_number, struct error **err);
int block_device_size(const char *path, uint64_t *ret_bytes, struct error **err);
/* Waits until it has at least this size, and calls nudge() (may be NULL) in between. */
int block_device_wait_size(const char *path, uint64_t bytes, int64_t timeout_ms,
                           void (*nudge)(void *context), void *context, struct error **err);
/* Waits until nobody has it mounted, in whatever mount namespace, or claimed otherwise.
 * FAILED_PRECONDITION when somebody still has it at the end. Fine when it is gone. */
int block_device_wait_unused(const char *path, int64_t timeout_ms, struct error **err);

#endif
