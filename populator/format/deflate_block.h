/* SPDX-License-Identifier: Apache-2.0 */
/* A block of a deflate stream (RFC 1951) that brings codes of its own: its header, tables to look
 * symbols up in, and symbols one at a time. deflate_lanes.h decodes nearly all by the tables; what
 * they do not tell, long codes and the end of a block, is asked here.
 *
 * A place in the input is an address in bits: that of its byte, times 8, and which bit of it. Lanes
 * of a vector can thus hold places in different buffers. */
#ifndef POPULATOR_FORMAT_DEFLATE_BLOCK_H
#define POPULATOR_FORMAT_DEFLATE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define DEFLATE_CODE_MAX 15
#define DEFLATE_LENGTH_MAX 258 /* of a match */

/* Bits that a table is asked with. Nearly all codes are shorter, and what sixteen lanes have of
 * tables stays in the processor's own cache. */
#define DEFLATE_LITLEN_BITS 11
#define DEFLATE_DISTANCE_BITS 8

/* An entry for a literal or a length:
 *   bits 0-3   bits of its code; 0: ask deflate_block_next()
 *   bits 4-6   further bits, which are added to a length
 *   bit 7      a literal
 *   bits 8-15  the literal, or the length less DEFLATE_LENGTH_MIN */
#define DEFLATE_LITERAL 0x80
#define DEFLATE_LENGTH_MIN 3
/* An entry for a distance: bits 0-3 and 4-7 likewise, bits 8-23 the distance. */

/* A canonical code: those of one length are neighbours, in the order of their symbols. */
struct deflate_code {
  uint16_t counts[DEFLATE_CODE_MAX + 1]; /* codes of each length */
  uint16_t symbols[288];                 /* in the order of their codes */
};

struct deflate_block {
  struct deflate_code litlen;
  struct deflate_code distance;
  uint16_t *litlen_table;   /* 1 << DEFLATE_LITLEN_BITS entries, the owner's */
  uint32_t *distance_table; /* 1 << DEFLATE_DISTANCE_BITS */
  bool is_last;
};

struct deflate_input {
  uint64_t at; /* an address in bits */
  uint64_t end;
};

/* Reads a header. -1: it is damaged, or is a block without codes of its own; both are rare, and
 * left to somebody else. */
int deflate_block_begin(struct deflate_block *block, struct deflate_input *input);

enum deflate_item {
  DEFLATE_ITEM_LITERAL,
  DEFLATE_ITEM_MATCH,
  DEFLATE_ITEM_END,     /* of the block */
  DEFLATE_ITEM_DAMAGED, /* *input is anywhere then, also behind its end */
};

/* The next item: its literal, or the length and distance of its match. */
enum deflate_item deflate_block_next(const struct deflate_block *block, struct deflate_input *input,
                                     unsigned *ret_literal_or_length, unsigned *ret_distance);

#endif
