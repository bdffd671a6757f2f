/* SPDX-License-Identifier: Apache-2.0 */
/* The range decoder of LZMA: bits out of bytes, each with the probability that it is 0.
 *
 * It never asks whether there is input: whoever decodes looks once a symbol whether it went past
 * the end, and keeps LZMA_RANGE_PAD bytes readable behind that. All of it is inline, so that a
 * decoder's loop keeps it in registers. Trees of bits are decoded without branches, since nobody
 * can foretell their bits; range_is_set() is for the choices between kinds of symbols, which the
 * processor foretells well. */
#ifndef POPULATOR_FORMAT_LZMA_RANGE_H
#define POPULATOR_FORMAT_LZMA_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* A symbol has at most 48 bits, and each takes at most a byte. */
#define LZMA_RANGE_PAD 64
/* Its first byte is always 0. */
#define LZMA_RANGE_START_BYTES 5

#define LZMA_RANGE_PROB_BITS 11
#define LZMA_RANGE_PROB_ONE (1 << LZMA_RANGE_PROB_BITS)
#define LZMA_RANGE_PROB_HALF (LZMA_RANGE_PROB_ONE / 2)
#define LZMA_RANGE_ADAPT_BITS 5
/* Adapting goes no nearer to 0, nor to ONE. */
#define LZMA_RANGE_PROB_MIN ((1 << LZMA_RANGE_ADAPT_BITS) - 1)
#define LZMA_RANGE_INLINE static inline __attribute__((always_inline))

struct lzma_range {
  uint32_t range, code;
  const uint8_t *in;
};

LZMA_RANGE_INLINE void
range_normalise(struct lzma_range *rc)
{
  if (rc->range >= (uint32_t)1 << 24)
    return;
  rc->range <<= 8;
  rc->code = rc->code << 8 | *rc->in++;
}

/* With a branch. */
LZMA_RANGE_INLINE bool
range_is_set(struct lzma_range *rc, uint16_t *prob)
{
  range_normalise(rc);
  uint32_t p = *prob, bound = (rc->range >> LZMA_RANGE_PROB_BITS) * p;
  if (rc->code < bound) {
    rc->range = bound;
    *prob = (uint16_t)(p + ((LZMA_RANGE_PROB_ONE - p) >> LZMA_RANGE_ADAPT_BITS));
    return false;
  }
  rc->range -= bound;
  rc->code -= bound;
  *prob = (uint16_t)(p - (p >> LZMA_RANGE_ADAPT_BITS));
  return true;
}

/* Without one. For a 0 the probability goes up by (ONE - p) >> ADAPT, which is the negative of
 * (p - ONE + 31) >> ADAPT, so both cases are one subtraction. */
LZMA_RANGE_INLINE uint32_t
range_bit(struct lzma_range *rc, uint16_t *prob)
{
  range_normalise(rc);
  uint32_t p = *prob, bound = (rc->range >> LZMA_RANGE_PROB_BITS) * p;
  uint32_t is_zero = (uint32_t)0 - (uint32_t)(rc->code < bound); /* all bits */
  uint32_t rest = rc->range - bound;
  rc->range = rest + ((bound - rest) & is_zero);
  rc->code -= bound & ~is_zero;
  int32_t bias = (int32_t)is_zero & ((1 << LZMA_RANGE_ADAPT_BITS) - 1 - LZMA_RANGE_PROB_ONE);
  *prob = (uint16_t)((int32_t)p - (((int32_t)p + bias) >> LZMA_RANGE_ADAPT_BITS));
  return is_zero + 1;
}

/* So many bits, the highest first. */
LZMA_RANGE_INLINE uint32_t
range_tree(struct lzma_range *rc, uint16_t *probs, unsigned bits)
{
  uint32_t symbol = 1;
  for (unsigned i = 0; i < bits; i++)
    symbol = symbol << 1 | range_bit(rc, &probs[symbol]);
  return symbol - ((uint32_t)1 << bits);
}

/* The lowest first. */
LZMA_RANGE_INLINE uint32_t
range_reverse_tree(struct lzma_range *rc, uint16_t *probs, unsigned bits)
{
  uint32_t symbol = 1, value = 0;
  for (unsigned i = 0; i < bits; i++) {
    uint32_t bit = range_bit(rc, &probs[symbol]);
    symbol = symbol << 1 | bit;
    value |= bit << i;
  }
  return value;
}

/* Bits that are as likely 0 as 1. */
LZMA_RANGE_INLINE uint32_t
range_direct(struct lzma_range *rc, unsigned bits)
{
  uint32_t value = 0;
  for (unsigned i = 0; i < bits; i++) {
    range_normalise(rc);
    rc->range >>= 1;
    uint32_t is_one = (uint32_t)0 - (uint32_t)(rc->code >= rc->range);
    rc->code -= rc->range & is_one;
    value = value << 1 | (is_one & 1);
  }
  return value;
}

#endif
