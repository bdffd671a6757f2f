/* SPDX-License-Identifier: Apache-2.0 */
/* XXH64, the checksum of zstd's frames, in pieces.
 *
 * A frame that is gone on with in another process has a checksum that is half computed: no library
 * promises what the state of its own looks like in the next version, so this one is ours. */
#ifndef POPULATOR_FORMAT_XXH64_H
#define POPULATOR_FORMAT_XXH64_H

#include <stddef.h>
#include <stdint.h>

#include "populator/format/state.h"

#define XXH64_STRIPE 32

struct xxh64 {
  uint64_t lanes[4];
  uint64_t len;                     /* of all that was added */
  unsigned char rest[XXH64_STRIPE]; /* its last len % XXH64_STRIPE bytes */
};

/* With the seed 0. */
void xxh64_init(struct xxh64 *hash);
void xxh64_add(struct xxh64 *hash, const void *data, size_t len);
uint64_t xxh64_value(const struct xxh64 *hash);

void xxh64_save(const struct xxh64 *hash, struct buffer *body);
/* Any numbers are a state; what cannot be read marks the reader failed. */
void xxh64_restore(struct xxh64 *hash, struct state_reader *reader);

#endif
