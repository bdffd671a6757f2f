/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd_offsets.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"

/* Blocks whose sequences are kept. */
#define KEPT 4
/* A block of no more sequences is never let go undecoded. */
#define FEW 64
#define UNKNOWN 0 /* no offset is 0 */
/* Behind the kept bytes, so that eight can be read anywhere. */
#define PADDING 8

struct kept_block {
  struct buffer bits; /* and PADDING */
  unsigned sequences;
  struct zstd_table tables[ZSTD_FSE_KINDS];
};

struct zstd_offsets {
  uint32_t values[ZSTD_OFFSETS]; /* before the kept blocks, or UNKNOWN */
  size_t kept;
  bool drops_none; /* they were asked for, and not known */
  struct kept_block blocks[KEPT];
  struct zstd_fse tables[ZSTD_FSE_KINDS]; /* of the block that is being decoded */
};

struct zstd_offsets *
zstd_offsets_new(void)
{
  return xcalloc(1, sizeof(struct zstd_offsets));
}

void
zstd_offsets_free(struct zstd_offsets *offsets)
{
  if (!offsets)
    return;
  for (size_t i = 0; i < KEPT; i++)
    buffer_clear(&offsets->blocks[i].bits);
  free(offsets);
}

void
zstd_offsets_set(struct zstd_offsets *offsets, const uint32_t values[ZSTD_OFFSETS])
{
  memcpy(offsets->values, values, sizeof(offsets->values));
  offsets->kept = 0;
  offsets->drops_none = false;
}

/* ---- the sequences of a block ------------------------------------------------------------------
 */

/* Bits from the end to the beginning. */
struct bits {
  const char *bytes;
  size_t left;
  bool failed; /* more were read than there are */
};

static inline uint64_t
take_bits(struct bits *bits, unsigned count)
{
  if (count > bits->left) {
    bits->failed = true;
    return 0;
  }
  bits->left -= count;
  return bytes_le64(bits->bytes + bits->left / 8) >> bits->left % 8 & (((uint64_t)1 << count) - 1);
}

/* A bit that is set marks the end, in the last byte. */
static struct bits
begin_bits(const struct kept_block *block)
{
  size_t len = block->bits.len - PADDING;
  unsigned char last = len > 0 ? (unsigned char)block->bits.data[len - 1] : 0;
  struct bits bits = {.bytes = block->bits.data, .failed = last == 0};
  if (last != 0)
    bits.left = len * 8 - 8 + (31 - (unsigned)__builtin_clz(last));
  return bits;
}

/* How many bits stand behind the code of a length (section 3.1.1.3.2.1.1). */
static const uint8_t literals_bits[] = {0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,  0,
                                        0, 0, 0, 0, 1, 1,  1,  1,  2,  2,  3,  3,
                                        4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const uint8_t matches_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,  0, 0,
                                       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  1,  1,  1, 1,
                                       2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/* What is used comes to the front. The first three values mean one of the offsets, or, when there
 * are no literals before the match, the next one. */
static void
use_offset(uint32_t values[ZSTD_OFFSETS], uint64_t value, bool has_literals)
{
  uint64_t which = value - 1 + !has_literals;
  uint32_t offset = UNKNOWN;
  if (value > ZSTD_OFFSETS)
    offset = (uint32_t)(value - ZSTD_OFFSETS);
  else if (which < ZSTD_OFFSETS)
    offset = values[which];
  else if (values[0] != UNKNOWN)
    offset = values[0] - 1;
  if (value <= ZSTD_OFFSETS && which == 0)
    return;
  if (value > ZSTD_OFFSETS || which >= 2)
    values[2] = values[1];
  values[1] = values[0];
  values[0] = offset;
}

static void
decode_block(struct zstd_offsets *offsets, const struct kept_block *block)
{
  const struct zstd_fse *tables = offsets->tables;
  struct bits bits = begin_bits(block);
  uint64_t at[ZSTD_FSE_KINDS];
  for (unsigned kind = 0; kind < ZSTD_FSE_KINDS; kind++) {
    zstd_table_build(&block->tables[kind], kind, &offsets->tables[kind]);
    at[kind] = take_bits(&bits, tables[kind].log);
  }
  for (unsigned left = block->sequences; left > 0 && !bits.failed; left--) {
    const struct zstd_fse_state *literals = &tables[ZSTD_FSE_LITERALS].states[at[0]];
    const struct zstd_fse_state *offset = &tables[ZSTD_FSE_OFFSETS].states[at[1]];
    const struct zstd_fse_state *match = &tables[ZSTD_FSE_MATCHES].states[at[2]];
    uint64_t value = ((uint64_t)1 << offset->symbol) + take_bits(&bits, offset->symbol);
    (void)take_bits(&bits, matches_bits[match->symbol]);
    (void)take_bits(&bits, literals_bits[literals->symbol]);
    use_offset(offsets->values, value, literals->symbol != 0);
    if (left == 1)
      break;
    at[ZSTD_FSE_LITERALS] = literals->base + take_bits(&bits, literals->bits);
    at[ZSTD_FSE_MATCHES] = match->base + take_bits(&bits, match->bits);
    at[ZSTD_FSE_OFFSETS] = offset->base + take_bits(&bits, offset->bits);
  }
  if (bits.failed)
    memset(offsets->values, UNKNOWN, sizeof(offsets->values));
}

/* ---- the last blocks ---------------------------------------------------------------------------
 */

static void
decode_kept(struct zstd_offsets *offsets)
{
  for (size_t i = 0; i < offsets->kept; i++)
    decode_block(offsets, &offsets->blocks[i]);
  offsets->kept = 0;
}

static void
drop_first(struct zstd_offsets *offsets)
{
  struct kept_block first = offsets->blocks[0];
  memmove(offsets->blocks, offsets->blocks + 1, (KEPT - 1) * sizeof(first));
  offsets->blocks[KEPT - 1] = first; /* its memory is used again */
  offsets->kept--;
  memset(offsets->values, UNKNOWN, sizeof(offsets->values));
}

void
zstd_offsets_follow(struct zstd_offsets *offsets, const struct zstd_block *block,
                    const struct zstd_tables *tables)
{
  static const char padding[PADDING];
  if (block->sequences == 0)
    return;
  if (offsets->kept == KEPT && (block->sequences <= FEW || offsets->drops_none))
    decode_kept(offsets);
  else if (offsets->kept == KEPT)
    drop_first(offsets);
  struct kept_block *kept = &offsets->blocks[offsets->kept++];
  kept->bits.len = 0;
  (void)buffer_append(&kept->bits, block->bits, block->bits_len);
  (void)buffer_append(&kept->bits, padding, sizeof(padding));
  kept->sequences = block->sequences;
  memcpy(kept->tables, tables->of, sizeof(kept->tables));
}

bool
zstd_offsets_get(struct zstd_offsets *offsets, uint32_t ret_values[ZSTD_OFFSETS])
{
  decode_kept(offsets);
  offsets->drops_none = false;
  for (size_t i = 0; i < ZSTD_OFFSETS; i++)
    offsets->drops_none = offsets->drops_none || offsets->values[i] == UNKNOWN;
  if (offsets->drops_none)
    return false;
  memcpy(ret_values, offsets->values, sizeof(offsets->values));
  return true;
}
