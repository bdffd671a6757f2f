/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd_fse.h"

#include <stdbool.h>
#include <stdlib.h>

#define LOG_MIN 5

struct coding {
  unsigned log_max, symbol_max;
  size_t predefined_len;
  unsigned char predefined[32];
};

/* Section 3.1.1.3.2: the predefined distributions, described as a block would describe them. */
static const struct coding codings[ZSTD_FSE_KINDS] = {
    [ZSTD_FSE_LITERALS] = {9, 35, 20, {0x51, 0x10, 0x63, 0x8c, 0x31, 0xc6, 0x18, 0x63, 0x0c, 0x21,
                                       0xc4, 0x18, 0x63, 0x66, 0x66, 0x86, 0x46, 0x92, 0x04, 0x00}},
    [ZSTD_FSE_OFFSETS] = {8,
                          31,
                          14,
                          {0x20, 0x84, 0x10, 0x42, 0x66, 0x46, 0x44, 0x44, 0x44, 0x44, 0x24, 0x49,
                           0x02, 0x00}},
    [ZSTD_FSE_MATCHES] = {9, 52, 29, {0x21, 0x14, 0xc4, 0x18, 0x63, 0x8c, 0x21, 0x84, 0x10, 0x42,
                                      0x08, 0x21, 0x84, 0x10, 0x42, 0x08, 0x21, 0x44, 0x44, 0x44,
                                      0x44, 0x44, 0x44, 0x44, 0x44, 0x24, 0x09, 0x00, 0x00}},
};

unsigned
zstd_fse_symbol_max(unsigned kind)
{
  return codings[kind].symbol_max;
}

const unsigned char *
zstd_fse_predefined(unsigned kind, size_t *ret_len)
{
  *ret_len = codings[kind].predefined_len;
  return codings[kind].predefined;
}

/* ---- a description -----------------------------------------------------------------------------
 */

/* Bits, the lowest of a byte first. */
struct bits {
  const unsigned char *bytes;
  size_t len; /* in bytes */
  size_t at;  /* in bits; behind the end when more was read than there is */
};

static unsigned
peek_bits(const struct bits *bits, unsigned count)
{
  unsigned value = 0;
  size_t byte = bits->at / 8;
  for (unsigned i = 0; i < 3 && byte + i < bits->len; i++)
    value |= (unsigned)bits->bytes[byte + i] << (8 * i);
  return value >> bits->at % 8 & ((1U << count) - 1);
}

static unsigned
take_bits(struct bits *bits, unsigned count)
{
  unsigned value = peek_bits(bits, count);
  bits->at += count;
  return value;
}

static unsigned
highest_bit(unsigned value)
{
  return 31 - (unsigned)__builtin_clz(value);
}

/* A number from 0 to max, of which the small ones may take a bit less. */
static unsigned
take_up_to(struct bits *bits, unsigned max)
{
  unsigned count = highest_bit(max) + 1;
  unsigned short_ones = (1U << count) - 1 - max;
  unsigned value = peek_bits(bits, count - 1);
  if (value < short_ones) {
    bits->at += count - 1;
    return value;
  }
  value = take_bits(bits, count);
  return value >= 1U << (count - 1) ? value - short_ones : value;
}

/* Behind a symbol that does not occur stands how many more do not. */
static unsigned
take_zeros(struct bits *bits)
{
  unsigned zeros = 0, more;
  do {
    more = take_bits(bits, 2);
    zeros += more;
  } while (more == 3 && zeros < ZSTD_FSE_SYMBOLS_MAX);
  return zeros;
}

size_t
zstd_fse_read(unsigned kind, const unsigned char *bytes, size_t len,
              struct zstd_fse_counts *ret_counts)
{
  struct bits bits = {.bytes = bytes, .len = len};
  struct zstd_fse_counts counts = {.log = take_bits(&bits, 4) + LOG_MIN};
  if (counts.log > codings[kind].log_max)
    return 0;
  for (unsigned left = 1U << counts.log; left > 0;) {
    if (counts.symbols > codings[kind].symbol_max)
      return 0;
    int count = (int)take_up_to(&bits, left + 1) - 1;
    counts.of[counts.symbols++] = (int16_t)count;
    left -= (unsigned)abs(count);
    if (count == 0)
      counts.symbols += take_zeros(&bits);
  }
  if (bits.at > len * 8)
    return 0;
  *ret_counts = counts;
  return (bits.at + 7) / 8;
}

/* ---- a table -----------------------------------------------------------------------------------
 */

/* Spreads the symbols over the states: the rarest at the end, the others in leaps. */
static void
spread(const struct zstd_fse_counts *counts, struct zstd_fse *table)
{
  unsigned size = 1U << counts->log;
  unsigned end = size, at = 0;
  for (unsigned s = 0; s < counts->symbols; s++) {
    if (counts->of[s] < 0)
      table->states[--end].symbol = (uint8_t)s;
  }
  for (unsigned s = 0; s < counts->symbols; s++) {
    for (int i = 0; i < counts->of[s]; i++) {
      table->states[at].symbol = (uint8_t)s;
      do
        at = (at + (size >> 1) + (size >> 3) + 3) & (size - 1);
      while (at >= end);
    }
  }
}

void
zstd_fse_build(const struct zstd_fse_counts *counts, struct zstd_fse *ret_table)
{
  unsigned size = 1U << counts->log;
  unsigned next[ZSTD_FSE_SYMBOLS_MAX];
  ret_table->log = counts->log;
  spread(counts, ret_table);
  for (unsigned s = 0; s < counts->symbols; s++)
    next[s] = (unsigned)abs(counts->of[s]);
  for (unsigned i = 0; i < size; i++) {
    struct zstd_fse_state *state = &ret_table->states[i];
    unsigned place = next[state->symbol]++;
    state->bits = (uint8_t)(counts->log - highest_bit(place));
    state->base = (uint16_t)((place << state->bits) - size);
  }
}

void
zstd_fse_build_single(uint8_t symbol, struct zstd_fse *ret_table)
{
  ret_table->log = 0;
  ret_table->states[0] = (struct zstd_fse_state){.symbol = symbol};
}
