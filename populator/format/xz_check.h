/* SPDX-License-Identifier: Apache-2.0 */
/* The check at the end of a block of an xz file, made of what the block holds. liblzma makes the
 * same, but its state cannot be saved in the middle.
 *
 * Owned by one block; no locking. */
#ifndef POPULATOR_FORMAT_XZ_CHECK_H
#define POPULATOR_FORMAT_XZ_CHECK_H

#include <lzma.h>
#include <openssl/sha.h>
#include <stdbool.h>

#include "populator/format/state.h"

struct xz_check {
  lzma_check kind;
  union {
    uint64_t crc; /* CRC32 or CRC64 */
    SHA256_CTX sha256;
  };
};

/* None, CRC32, CRC64 and SHA-256: all that the format has given a meaning. */
bool xz_check_is_known(lzma_check kind);

/* Of a kind that is known. */
void xz_check_begin(struct xz_check *check, lzma_check kind);
void xz_check_update(struct xz_check *check, const void *data, size_t len);
/* Whether it comes to what the file says: lzma_check_size() bytes. It cannot be gone on with. */
bool xz_check_is(struct xz_check *check, const uint8_t *said);

void xz_check_save(const struct xz_check *check, struct buffer *body);
/* Into one that has begun. Marks the reader failed when the state is not one. */
void xz_check_restore(struct xz_check *check, struct state_reader *reader);

#endif
