/* SPDX-License-Identifier: Apache-2.0 */
/* The loop keeps all that changes with each symbol in a struct run, which no pointer to it leaves,
 * so that the compiler holds it in registers. */
#include "populator/format/lzma_decoder.h"

#include <assert.h>

/* States below have a literal last. */
#define STATE_MATCHED 7
#define PROPERTIES_MAX (9 * 5 * 5)
#define LENGTH_MIN 2
/* Slots of distances: below the first they are the distance itself, below the second the bits under
 * the two highest are modelled, from there on only the lowest ALIGN_BITS are. */
#define SLOT_MODELLED 4
#define SLOT_DIRECT 14
#define ALIGN_BITS 4

#define PROBS_COUNT (sizeof(struct lzma_probs) / sizeof(uint16_t))

static_assert(_Alignof(struct lzma_probs) == sizeof(uint16_t), "without gaps: a row of numbers");

struct run {
  struct lzma_range range;
  size_t at;
  uint32_t state;
  uint32_t rep0, rep1, rep2, rep3;
};

/* ---- settings ----------------------------------------------------------------------------------
 */

static uint8_t
properties_of(const struct lzma_decoder *decoder)
{
  return (uint8_t)((decoder->pb * 5 + decoder->lp) * 9 + decoder->lc);
}

bool
lzma_decoder_set_properties(struct lzma_decoder *decoder, uint8_t properties)
{
  uint32_t lc = properties % 9, lp = properties / 9 % 5;
  if (properties >= PROPERTIES_MAX || lc + lp > LZMA_LITERAL_BITS_MAX)
    return false;
  decoder->lc = lc;
  decoder->lp = lp;
  decoder->pb = properties / 9 / 5;
  return true;
}

void
lzma_decoder_reset(struct lzma_decoder *decoder)
{
  uint16_t *probs = (uint16_t *)&decoder->probs;
  for (size_t i = 0; i < PROBS_COUNT; i++)
    probs[i] = LZMA_RANGE_PROB_HALF;
  decoder->state = 0;
  memset(decoder->reps, 0, sizeof(decoder->reps));
}

/* ---- symbols -----------------------------------------------------------------------------------
 */

/* As long as its bits are those of the byte that a match would have had, they have probabilities of
 * their own: `same` is 0x100 then, and 0 from the first other bit on. */
LZMA_RANGE_INLINE uint32_t
matched_literal(struct run *run, uint16_t *probs, uint32_t expected)
{
  uint32_t symbol = 1, same = 0x100;
  for (unsigned i = 0; i < 8; i++) {
    expected <<= 1;
    uint32_t bit = range_bit(&run->range, &probs[same + (same & expected) + symbol]);
    symbol = symbol << 1 | bit;
    same &= ~(expected ^ bit << 8);
  }
  return symbol;
}

LZMA_RANGE_INLINE void
literal(struct run *run, struct lzma_decoder *decoder, const struct lzma_window *window)
{
  uint32_t before = window->ring[(ptrdiff_t)run->at - 1];
  uint32_t place = (uint32_t)run->at & ((1U << decoder->lp) - 1);
  uint32_t context = (place << decoder->lc) + (before >> (8 - decoder->lc));
  uint16_t *probs = &decoder->probs.literal[(size_t)LZMA_LITERAL_PROBS * context];
  uint32_t symbol;
  if (run->state < STATE_MATCHED)
    symbol = range_tree(&run->range, probs, 8);
  else
    symbol =
        matched_literal(run, probs, window->ring[lzma_window_place(window, run->at, run->rep0)]);
  window->ring[run->at++] = (uint8_t)symbol;
  run->state = run->state < 4 ? 0 : run->state < 10 ? run->state - 3 : run->state - 6;
}

LZMA_RANGE_INLINE uint32_t
length(struct run *run, struct lzma_length_probs *probs, size_t position)
{
  if (!range_is_set(&run->range, &probs->is_not_low))
    return LENGTH_MIN + range_tree(&run->range, probs->low[position], 3);
  if (!range_is_set(&run->range, &probs->is_high))
    return LENGTH_MIN + 8 + range_tree(&run->range, probs->middle[position], 3);
  return LENGTH_MIN + 16 + range_tree(&run->range, probs->high, 8);
}

LZMA_RANGE_INLINE uint32_t
distance(struct run *run, struct lzma_probs *probs, uint32_t len)
{
  uint32_t context = len < LENGTH_MIN + 4 ? len - LENGTH_MIN : 3;
  uint32_t slot = range_tree(&run->range, probs->slot[context], 6);
  if (slot < SLOT_MODELLED)
    return slot;
  unsigned bits = (slot >> 1) - 1;
  uint32_t value = (2 | (slot & 1)) << bits;
  if (slot < SLOT_DIRECT)
    return value + range_reverse_tree(&run->range, &probs->distance[value - slot], bits);
  value += range_direct(&run->range, bits - ALIGN_BITS) << ALIGN_BITS;
  return value + range_reverse_tree(&run->range, probs->align, ALIGN_BITS);
}

/* How long; from where is rep0. */
LZMA_RANGE_INLINE uint32_t
match(struct run *run, struct lzma_probs *probs, size_t position)
{
  uint32_t len = length(run, &probs->match_length, position);
  run->rep3 = run->rep2;
  run->rep2 = run->rep1;
  run->rep1 = run->rep0;
  run->rep0 = distance(run, probs, len);
  run->state = run->state < STATE_MATCHED ? 7 : 10;
  return len;
}

/* Puts the one of the last four distances in front that is used again. */
LZMA_RANGE_INLINE void
choose_rep(struct run *run, struct lzma_probs *probs)
{
  uint32_t chosen = run->rep1;
  if (range_is_set(&run->range, &probs->is_not_rep1[run->state])) {
    chosen = run->rep2;
    if (range_is_set(&run->range, &probs->is_not_rep2[run->state])) {
      chosen = run->rep3;
      run->rep3 = run->rep2;
    }
    run->rep2 = run->rep1;
  }
  run->rep1 = run->rep0;
  run->rep0 = chosen;
}

LZMA_RANGE_INLINE uint32_t
rep_match(struct run *run, struct lzma_probs *probs, size_t position)
{
  bool has_matched = run->state >= STATE_MATCHED;
  if (range_is_set(&run->range, &probs->is_not_rep0[run->state])) {
    choose_rep(run, probs);
  } else if (!range_is_set(&run->range, &probs->is_rep0_long[run->state][position])) {
    run->state = has_matched ? 11 : 9;
    return 1;
  }
  run->state = has_matched ? 11 : 8;
  return length(run, &probs->rep_length, position);
}

/* ---- a piece -----------------------------------------------------------------------------------
 */

bool
lzma_decoder_begin(struct lzma_decoder *decoder, const uint8_t *in, size_t len)
{
  if (len < LZMA_RANGE_START_BYTES || in[0] != 0)
    return false;
  uint32_t code = 0;
  for (size_t i = 1; i < LZMA_RANGE_START_BYTES; i++)
    code = code << 8 | in[i];
  decoder->range = (struct lzma_range){UINT32_MAX, code, in + LZMA_RANGE_START_BYTES};
  decoder->in_end = in + len;
  decoder->match_left = 0;
  return true;
}

/* Up to `limit`; what is left of the last match is *ret_left. False when it is damaged. */
static bool
decode(struct run *out_run, struct lzma_decoder *decoder, const struct lzma_window *out_window,
       size_t limit, uint32_t *ret_left)
{
  struct run run = *out_run;
  const struct lzma_window window = *out_window;
  struct lzma_probs *probs = &decoder->probs;
  const size_t position_mask = ((size_t)1 << decoder->pb) - 1;
  uint32_t left = 0;
  while (run.at < limit) {
    size_t position = run.at & position_mask;
    if (run.range.in > decoder->in_end)
      return false;
    if (!range_is_set(&run.range, &probs->is_match[run.state][position])) {
      literal(&run, decoder, &window);
      continue;
    }
    uint32_t len = range_is_set(&run.range, &probs->is_rep[run.state])
                       ? rep_match(&run, probs, position)
                       : match(&run, probs, position);
    if (!lzma_window_reaches(&window, run.at, run.rep0))
      return false;
    size_t room = limit - run.at;
    left = len > room ? len - (uint32_t)room : 0;
    lzma_window_repeat(&window, run.at, run.rep0, len - left);
    run.at += len - left;
  }
  *out_run = run;
  *ret_left = left;
  return true;
}

bool
lzma_decoder_run(struct lzma_decoder *decoder, struct lzma_window *window, size_t len)
{
  size_t limit = window->at + len;
  size_t first = decoder->match_left < len ? decoder->match_left : len;
  assert(limit <= window->ring_size);
  if (first > 0) {
    lzma_window_repeat(window, window->at, decoder->reps[0], first);
    window->at += first;
    decoder->match_left -= (uint32_t)first;
  }
  if (window->at == limit)
    return true;
  struct run run = {.range = decoder->range,
                    .at = window->at,
                    .state = decoder->state,
                    .rep0 = decoder->reps[0],
                    .rep1 = decoder->reps[1],
                    .rep2 = decoder->reps[2],
                    .rep3 = decoder->reps[3]};
  if (!decode(&run, decoder, window, limit, &decoder->match_left))
    return false;
  decoder->range = run.range;
  decoder->state = run.state;
  decoder->reps[0] = run.rep0;
  decoder->reps[1] = run.rep1;
  decoder->reps[2] = run.rep2;
  decoder->reps[3] = run.rep3;
  window->at = run.at;
  return true;
}

bool
lzma_decoder_end(struct lzma_decoder *decoder)
{
  range_normalise(&decoder->range);
  return decoder->match_left == 0 && decoder->range.code == 0 &&
         decoder->range.in == decoder->in_end;
}

/* ---- saving ------------------------------------------------------------------------------------
 */

void
lzma_decoder_save(const struct lzma_decoder *decoder, struct buffer *body)
{
  const uint16_t *probs = (const uint16_t *)&decoder->probs;
  state_put_number(body, properties_of(decoder));
  state_put_number(body, decoder->state);
  for (size_t i = 0; i < LZMA_REPS; i++)
    state_put_number(body, decoder->reps[i]);
  for (size_t i = 0; i < PROBS_COUNT; i++)
    state_put_number(body, probs[i]);
}

void
lzma_decoder_restore(struct lzma_decoder *decoder, const struct lzma_window *window,
                     struct state_reader *reader)
{
  uint16_t *probs = (uint16_t *)&decoder->probs;
  uint8_t properties = (uint8_t)state_get_number_up_to(reader, UINT8_MAX);
  decoder->state = (uint32_t)state_get_number_up_to(reader, LZMA_STATES - 1);
  for (size_t i = 0; i < LZMA_REPS; i++)
    decoder->reps[i] = (uint32_t)state_get_number_up_to(reader, UINT32_MAX);
  for (size_t i = 0; i < PROBS_COUNT; i++) {
    probs[i] = (uint16_t)state_get_number_up_to(reader, LZMA_RANGE_PROB_ONE - LZMA_RANGE_PROB_MIN);
    reader->failed = reader->failed || probs[i] < LZMA_RANGE_PROB_MIN;
  }
  /* Behind a match, a literal looks where that came from without asking. */
  reader->failed = reader->failed || !lzma_decoder_set_properties(decoder, properties) ||
                   (decoder->state >= STATE_MATCHED &&
                    !lzma_window_reaches(window, window->at, decoder->reps[0]));
}
