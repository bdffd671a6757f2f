/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd_block.h"

#include <stdint.h>

#include "populator/format/bytes.h"

enum { LITERALS_RAW, LITERALS_RLE, LITERALS_TREE, LITERALS_TREELESS };

struct part {
  const unsigned char *at;
  size_t left;
};

static bool
take(struct part *part, size_t len, const unsigned char **ret_bytes)
{
  if (len > part->left)
    return false;
  *ret_bytes = part->at;
  part->at += len;
  part->left -= len;
  return true;
}

/* Literals as they are, or one that is repeated: a length of 5, 12 or 20 bits. */
static bool
pass_plain_literals(struct part *part, unsigned type)
{
  static const size_t header_lens[] = {1, 2, 1, 3};
  const unsigned char *header, *literals;
  unsigned format = part->at[0] >> 2 & 3;
  if (!take(part, header_lens[format], &header))
    return false;
  size_t len = header[0] >> (format & 1 ? 4 : 3);
  for (size_t i = 1; i < header_lens[format]; i++)
    len |= (size_t)header[i] << (8 * i - 4);
  return take(part, type == LITERALS_RLE ? 1 : len, &literals);
}

/* Compressed ones: two lengths of 10, 14 or 18 bits, and perhaps a tree in front. */
static bool
pass_coded_literals(struct part *part, unsigned type, struct zstd_block *block)
{
  static const size_t header_lens[] = {3, 3, 4, 5};
  static const unsigned length_bits[] = {10, 10, 14, 18};
  const unsigned char *header, *literals;
  unsigned format = part->at[0] >> 2 & 3;
  if (!take(part, header_lens[format], &header))
    return false;
  uint64_t fields = 0;
  for (size_t i = 0; i < header_lens[format]; i++)
    fields |= (uint64_t)header[i] << (8 * i);
  unsigned bits = length_bits[format];
  size_t len = fields >> (4 + bits) & ((1U << bits) - 1);
  if (!take(part, len, &literals))
    return false;
  block->repeats_tree = type == LITERALS_TREELESS;
  if (block->repeats_tree)
    return true;
  if (len == 0)
    return false;
  block->tree = literals;
  block->tree_len = 1 + (literals[0] < 128 ? literals[0] : (size_t)(literals[0] - 127 + 1) / 2);
  return block->tree_len <= len;
}

static bool
pass_literals(struct part *part, struct zstd_block *block)
{
  if (part->left == 0)
    return false;
  unsigned type = part->at[0] & 3;
  return type == LITERALS_RAW || type == LITERALS_RLE ? pass_plain_literals(part, type)
                                                      : pass_coded_literals(part, type, block);
}

/* How many sequences there are, in one to three bytes. */
static bool
take_count(struct part *part, unsigned *ret_count)
{
  const unsigned char *first, *more;
  if (!take(part, 1, &first))
    return false;
  if (*first < 128) {
    *ret_count = *first;
    return true;
  }
  if (!take(part, *first < 255 ? 1 : 2, &more))
    return false;
  *ret_count = *first < 255 ? ((*first - 128U) << 8) + *more : bytes_le16(more) + 0x7f00U;
  return true;
}

static bool
take_table(struct part *part, unsigned kind, struct zstd_block_table *table)
{
  struct zstd_fse_counts counts;
  if (table->mode == ZSTD_BLOCK_SINGLE)
    table->len = 1;
  else if (table->mode == ZSTD_BLOCK_DESCRIBED)
    table->len = zstd_fse_read(kind, part->at, part->left, &counts);
  if (table->mode == ZSTD_BLOCK_DESCRIBED && table->len == 0)
    return false;
  return take(part, table->len, &table->bytes) &&
         (table->mode != ZSTD_BLOCK_SINGLE || *table->bytes <= zstd_fse_symbol_max(kind));
}

bool
zstd_block_parse(const unsigned char *bytes, size_t len, struct zstd_block *ret_block)
{
  struct zstd_block block = {0};
  struct part part = {.at = bytes, .left = len};
  if (!pass_literals(&part, &block))
    return false;
  bool is_zero = part.left > 0 && part.at[0] == 0;
  if (!take_count(&part, &block.sequences))
    return false;
  block.has_tables = !is_zero;
  if (block.has_tables && !take(&part, 1, &block.modes))
    return false;
  for (unsigned kind = 0; block.has_tables && kind < ZSTD_FSE_KINDS; kind++) {
    block.tables[kind].mode = (enum zstd_block_mode)(*block.modes >> (6 - 2 * kind) & 3);
    if (!take_table(&part, kind, &block.tables[kind]))
      return false;
  }
  block.bits = part.at;
  block.bits_len = part.left;
  *ret_block = block;
  return true;
}
