/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what was last read of a source, in large blocks: a decoder asks for a few kilobytes at a
 * time, mostly one behind the other, and a request to a far server costs the same for a megabyte.
 * A block that several want at once is read once. Any number of threads at once. */
#ifndef POPULATOR_FORMAT_FOREIGN_BLOCK_CACHE_H
#define POPULATOR_FORMAT_FOREIGN_BLOCK_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "populator/source/source.h"

#define BLOCK_CACHE_BLOCK_BYTES ((size_t)1 << 20)

struct block_cache;

/* The source stays the caller's. `blocks` bounds the memory; there must be more of them than
 * threads that read at once. */
struct block_cache *block_cache_new(struct source *source, size_t blocks);
void block_cache_free(struct block_cache *cache);
DEFINE_CLEANUP(struct block_cache *, block_cache_free)

/* Exactly len bytes, which lie inside the source's size. */
int block_cache_read(struct block_cache *cache, void *buf, size_t len, uint64_t offset,
                     struct error **err);

#endif
