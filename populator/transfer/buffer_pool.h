/* SPDX-License-Identifier: Apache-2.0 */
/* Large buffers of one size, made once and used again: they bound the memory of a transfer. A
 * buffer is counted: the writes that read from it hold it until they are done. */
#ifndef POPULATOR_TRANSFER_BUFFER_POOL_H
#define POPULATOR_TRANSFER_BUFFER_POOL_H

#include <stddef.h>

#include "lib/base/cleanup.h"

struct buffer_pool;

struct pool_buffer {
  char *data;
};

/* The first huge_bytes of each are in huge pages, where the kernel has some: a disk that reads into
 * them is told of a few stretches of memory in place of a thousand, which makes it twice as fast.
 * They are taken as a whole, so this is for what is filled as a whole. */
struct buffer_pool *buffer_pool_new(size_t count, size_t bytes, size_t huge_bytes);
/* All buffers must have come back. */
void buffer_pool_free(struct buffer_pool *pool);
DEFINE_CLEANUP(struct buffer_pool *, buffer_pool_free)

/* Waits until one is free. The caller has the first reference. */
struct pool_buffer *buffer_pool_take(struct buffer_pool *pool);
struct pool_buffer *pool_buffer_ref(struct pool_buffer *buffer);
/* Any thread; never blocks for long. NULL is fine. */
void pool_buffer_unref(struct pool_buffer *buffer);
DEFINE_CLEANUP(struct pool_buffer *, pool_buffer_unref)

#endif
