/* SPDX-License-Identifier: Apache-2.0 */
/* Makes gzip members, of every kind of deflate block and with every kind of header. */
#ifndef TESTS_FORMAT_PACK_H
#define TESTS_FORMAT_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/buffer.h"

enum pack_blocks { PACK_STORED, PACK_FIXED, PACK_DYNAMIC };

/* Flags of the header: see RFC 1952. */
enum { PACK_HEADER_CRC = 2, PACK_EXTRA = 4, PACK_NAME = 8, PACK_COMMENT = 16 };

/* Appends the data as raw deflate. */
void pack_deflate(struct buffer *out, const void *data, size_t len, enum pack_blocks blocks);
/* Inflates raw deflate by libdeflate. Whether it makes exactly so much. */
bool pack_inflate(const void *packed, size_t packed_len, void *out, size_t out_len);
/* Appends a member. */
void pack_gzip(struct buffer *out, const void *data, size_t len, enum pack_blocks blocks,
               unsigned flags);
/* Data that compresses, and some that does not: the same for the same seed. */
void pack_fill(char *data, size_t len, unsigned seed);

#endif
