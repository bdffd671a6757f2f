/* SPDX-License-Identifier: Apache-2.0 */
/* LZMA2: chunks of LZMA, and of bytes that were not worth it, with a state that can be saved.
 *
 * A chunk is at most 64 KiB long and makes at most 2 MiB. Each begins a range coder of its own, so
 * that between two of them the state is nothing but the window, the probabilities and a few
 * numbers. A chunk is taken whole before it is decoded: the decoder then need not ask for each byte
 * whether it is there.
 *
 * Owned by one stream; no locking. */
#ifndef POPULATOR_FORMAT_LZMA2_H
#define POPULATOR_FORMAT_LZMA2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "populator/format/decoder_memory.h"
#include "populator/format/state.h"

struct lzma2;

/* The window's memory is taken from `memory`, which outlives it. */
struct lzma2 *lzma2_new(struct decoder_memory *memory);
void lzma2_free(struct lzma2 *lzma2);
DEFINE_CLEANUP(struct lzma2 *, lzma2_free)

/* Whether a dictionary can have this size. */
bool lzma2_can_have(uint32_t dict_size);
/* Begins anew, with a dictionary of a size that it can have. False when there is no memory for it.
 */
bool lzma2_begin(struct lzma2 *lzma2, uint32_t dict_size);

struct lzma2_io {
  const uint8_t *in;
  size_t in_len;
  uint8_t *out;
  size_t out_len;
};

/* Decodes from in to out, and moves both on, until either is used up, or a chunk has ended. False
 * when it is damaged, from then on. */
bool lzma2_run(struct lzma2 *lzma2, struct lzma2_io *io);
/* The end was read. */
bool lzma2_is_done(const struct lzma2 *lzma2);
/* Between two chunks: here it can be saved. */
bool lzma2_is_settled(const struct lzma2 *lzma2);

void lzma2_save(const struct lzma2 *lzma2, struct state_sealer *sealer);
/* Into one that has begun, with the same size. Marks the reader failed when it cannot be. */
void lzma2_restore(struct lzma2 *lzma2, struct state_reader *reader);

#endif
