/* SPDX-License-Identifier: Apache-2.0 */
/* LZMA: literals, matches and repeated matches, as the LZMA specification defines them, out of one
 * whole piece of input into a window.
 *
 * liblzma does the same, but keeps its state to itself. Here it is plain: between two pieces of
 * input it is what the specification adapts from symbol to symbol, and that can be saved.
 *
 * Owned by one lzma2; no locking. */
#ifndef POPULATOR_FORMAT_LZMA_DECODER_H
#define POPULATOR_FORMAT_LZMA_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "populator/format/lzma_range.h"
#include "populator/format/lzma_window.h"
#include "populator/format/state.h"

#define LZMA_STATES 12
#define LZMA_REPS 4
#define LZMA_POSITIONS_MAX 16
/* Contexts of a literal: the sum of lc and lp is 4 at most in LZMA2. */
#define LZMA_LITERAL_BITS_MAX 4
#define LZMA_LITERAL_PROBS 0x300

struct lzma_length_probs {
  uint16_t is_not_low, is_high;
  uint16_t low[LZMA_POSITIONS_MAX][8], middle[LZMA_POSITIONS_MAX][8];
  uint16_t high[256];
};

/* Nothing but probabilities: they are set, saved and restored as one row of numbers. */
struct lzma_probs {
  uint16_t is_match[LZMA_STATES][LZMA_POSITIONS_MAX];
  uint16_t is_rep[LZMA_STATES], is_not_rep0[LZMA_STATES];
  uint16_t is_not_rep1[LZMA_STATES], is_not_rep2[LZMA_STATES];
  uint16_t is_rep0_long[LZMA_STATES][LZMA_POSITIONS_MAX];
  uint16_t slot[4][64], distance[115], align[16];
  struct lzma_length_probs match_length, rep_length;
  uint16_t literal[LZMA_LITERAL_PROBS << LZMA_LITERAL_BITS_MAX];
};

struct lzma_decoder {
  struct lzma_probs probs;
  uint32_t lc, lp, pb;
  uint32_t state;
  uint32_t reps[LZMA_REPS];
  /* Of the piece of input. */
  struct lzma_range range;
  const uint8_t *in_end;
  uint32_t match_left; /* of a match that was longer than there was room */
};

/* lc, lp and pb, as one byte. False when it means nothing, or more than LZMA2 allows. */
bool lzma_decoder_set_properties(struct lzma_decoder *decoder, uint8_t properties);
void lzma_decoder_reset(struct lzma_decoder *decoder);

/* Begins a piece of input. LZMA_RANGE_PAD bytes behind it can be read, too. False when it is none.
 */
bool lzma_decoder_begin(struct lzma_decoder *decoder, const uint8_t *in, size_t len);
/* Decodes so many bytes into the window, which has room for them in one stretch. False when the
 * input is damaged. */
bool lzma_decoder_run(struct lzma_decoder *decoder, struct lzma_window *window, size_t len);
/* Whether the input ends right here, as it has to when all is decoded. */
bool lzma_decoder_end(struct lzma_decoder *decoder);

/* Only between two pieces of input. */
void lzma_decoder_save(const struct lzma_decoder *decoder, struct buffer *body);
/* `window` is what it went on with. Marks the reader failed when it cannot be. */
void lzma_decoder_restore(struct lzma_decoder *decoder, const struct lzma_window *window,
                          struct state_reader *reader);

#endif
