/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/lzma2.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/lzma_decoder.h"
#include "populator/format/lzma_window.h"

#define DICT_MIN ((uint32_t)4096)
#define CHUNK_IN_MAX ((size_t)64 << 10)

/* The first byte of a chunk. Of LZMA's, the low bits belong to the length. */
#define CONTROL_END 0
#define CONTROL_STORED_RESETS 1 /* the dictionary */
#define CONTROL_STORED 2
#define CONTROL_LZMA 0x80
#define CONTROL_LZMA_STATE 0xa0      /* resets the state */
#define CONTROL_LZMA_PROPERTIES 0xc0 /* … and has new properties */
#define CONTROL_LZMA_RESETS 0xe0     /* … and resets the dictionary */
#define CONTROL_LENGTH_BITS 0x1f

#define HEADER_STORED_BYTES 3
#define HEADER_LZMA_BYTES 5
#define HEADER_PROPERTIES_BYTES 6

enum phase { PHASE_HEADER, PHASE_PACKED, PHASE_LZMA, PHASE_STORED, PHASE_END, PHASE_DAMAGED };

struct lzma2 {
  struct lzma_window window;
  struct lzma_decoder decoder;
  enum phase phase;
  bool needs_reset;      /* of the dictionary, by the next chunk */
  bool needs_properties; /* by the next one of LZMA */
  uint8_t header[HEADER_PROPERTIES_BYTES];
  size_t header_len;
  /* Of the chunk. */
  size_t in_len, out_left;
  size_t in_have;
  uint8_t in[CHUNK_IN_MAX + LZMA_RANGE_PAD];
};

struct lzma2 *
lzma2_new(struct decoder_memory *memory)
{
  struct lzma2 *lzma2 = xcalloc(1, sizeof(*lzma2));
  lzma2->window.memory = memory;
  return lzma2;
}

void
lzma2_free(struct lzma2 *lzma2)
{
  if (!lzma2)
    return;
  lzma_window_clear(&lzma2->window);
  free(lzma2);
}

bool
lzma2_can_have(uint32_t dict_size)
{
  return dict_size >= DICT_MIN && dict_size % LZMA_WINDOW_STEP == 0;
}

bool
lzma2_begin(struct lzma2 *lzma2, uint32_t dict_size)
{
  assert(lzma2_can_have(dict_size));
  lzma_decoder_reset(&lzma2->decoder);
  lzma2->phase = PHASE_HEADER;
  lzma2->needs_reset = true;
  lzma2->needs_properties = true;
  lzma2->header_len = 0;
  return lzma_window_open(&lzma2->window, dict_size);
}

/* ---- chunks ------------------------------------------------------------------------------------
 */

/* Up to `want` bytes in all. True when they are there. */
static bool
gather(struct lzma2_io *io, uint8_t *bytes, size_t *have, size_t want)
{
  assert(*have <= want);
  size_t missing = want - *have;
  size_t n = io->in_len < missing ? io->in_len : missing;
  if (n == 0)
    return missing == 0;
  memcpy(bytes + *have, io->in, n);
  io->in += n;
  io->in_len -= n;
  *have += n;
  return *have == want;
}

static size_t
header_bytes(uint8_t control)
{
  bool means_nothing = control > CONTROL_STORED && control < CONTROL_LZMA;
  if (control == CONTROL_END || means_nothing)
    return 1;
  if (control < CONTROL_LZMA)
    return HEADER_STORED_BYTES;
  return control < CONTROL_LZMA_PROPERTIES ? HEADER_LZMA_BYTES : HEADER_PROPERTIES_BYTES;
}

static bool
begin_stored(struct lzma2 *lzma2)
{
  const uint8_t *header = lzma2->header;
  if (header[0] > CONTROL_STORED)
    return false;
  lzma2->out_left = ((size_t)header[1] << 8 | header[2]) + 1;
  lzma2->phase = PHASE_STORED;
  return true;
}

static bool
begin_lzma(struct lzma2 *lzma2)
{
  const uint8_t *header = lzma2->header;
  uint8_t control = header[0];
  if (control >= CONTROL_LZMA_PROPERTIES) {
    if (!lzma_decoder_set_properties(&lzma2->decoder, header[5]))
      return false;
    lzma2->needs_properties = false;
  }
  if (lzma2->needs_properties)
    return false;
  if (control >= CONTROL_LZMA_STATE)
    lzma_decoder_reset(&lzma2->decoder);
  size_t high = control & CONTROL_LENGTH_BITS;
  lzma2->out_left = (high << 16 | (size_t)header[1] << 8 | header[2]) + 1;
  lzma2->in_len = ((size_t)header[3] << 8 | header[4]) + 1;
  lzma2->in_have = 0;
  lzma2->phase = PHASE_PACKED;
  return true;
}

static bool
begin_chunk(struct lzma2 *lzma2)
{
  uint8_t control = lzma2->header[0];
  lzma2->header_len = 0;
  if (control == CONTROL_END) {
    lzma2->phase = PHASE_END;
    return true;
  }
  if (control == CONTROL_STORED_RESETS || control >= CONTROL_LZMA_RESETS) {
    lzma_window_reset(&lzma2->window);
    lzma_decoder_reset(&lzma2->decoder); /* its distances lead nowhere now */
    lzma2->needs_reset = false;
    lzma2->needs_properties = true;
  }
  if (lzma2->needs_reset)
    return false;
  return control < CONTROL_LZMA ? begin_stored(lzma2) : begin_lzma(lzma2);
}

static bool
run_header(struct lzma2 *lzma2, struct lzma2_io *io)
{
  if (lzma2->header_len == 0 && !gather(io, lzma2->header, &lzma2->header_len, 1))
    return true;
  if (!gather(io, lzma2->header, &lzma2->header_len, header_bytes(lzma2->header[0])))
    return true;
  return begin_chunk(lzma2);
}

static bool
run_packed(struct lzma2 *lzma2, struct lzma2_io *io)
{
  if (!gather(io, lzma2->in, &lzma2->in_have, lzma2->in_len))
    return true;
  memset(lzma2->in + lzma2->in_len, 0, LZMA_RANGE_PAD);
  lzma2->phase = PHASE_LZMA;
  return lzma_decoder_begin(&lzma2->decoder, lzma2->in, lzma2->in_len);
}

/* What was just put into the window goes out. */
static void
give(struct lzma2 *lzma2, struct lzma2_io *io, size_t len)
{
  memcpy(io->out, lzma2->window.ring + lzma2->window.at - len, len);
  io->out += len;
  io->out_len -= len;
  lzma2->out_left -= len;
}

static bool
run_lzma(struct lzma2 *lzma2, struct lzma2_io *io)
{
  size_t want = io->out_len < lzma2->out_left ? io->out_len : lzma2->out_left;
  size_t len = lzma_window_stretch(&lzma2->window, want);
  if (!lzma_decoder_run(&lzma2->decoder, &lzma2->window, len))
    return false;
  give(lzma2, io, len);
  if (lzma2->out_left > 0)
    return true;
  lzma2->phase = PHASE_HEADER;
  return lzma_decoder_end(&lzma2->decoder);
}

static void
run_stored(struct lzma2 *lzma2, struct lzma2_io *io)
{
  size_t want = io->out_len < lzma2->out_left ? io->out_len : lzma2->out_left;
  size_t len = lzma_window_stretch(&lzma2->window, want < io->in_len ? want : io->in_len);
  lzma_window_put(&lzma2->window, io->in, len);
  io->in += len;
  io->in_len -= len;
  give(lzma2, io, len);
  if (lzma2->out_left == 0)
    lzma2->phase = PHASE_HEADER;
}

static bool
run(struct lzma2 *lzma2, struct lzma2_io *io)
{
  if (lzma2->phase == PHASE_HEADER && !run_header(lzma2, io))
    return false;
  if (lzma2->phase == PHASE_PACKED && !run_packed(lzma2, io))
    return false;
  while (lzma2->phase == PHASE_LZMA && io->out_len > 0) {
    if (!run_lzma(lzma2, io))
      return false;
  }
  while (lzma2->phase == PHASE_STORED && io->in_len > 0 && io->out_len > 0)
    run_stored(lzma2, io);
  return lzma2->phase != PHASE_DAMAGED;
}

bool
lzma2_run(struct lzma2 *lzma2, struct lzma2_io *io)
{
  if (!run(lzma2, io))
    lzma2->phase = PHASE_DAMAGED;
  return lzma2->phase != PHASE_DAMAGED;
}

bool
lzma2_is_done(const struct lzma2 *lzma2)
{
  return lzma2->phase == PHASE_END;
}

bool
lzma2_is_settled(const struct lzma2 *lzma2)
{
  return lzma2->phase == PHASE_HEADER && lzma2->header_len == 0;
}

/* ---- saving ------------------------------------------------------------------------------------
 */

void
lzma2_save(const struct lzma2 *lzma2, struct state_sealer *sealer)
{
  assert(lzma2_is_settled(lzma2));
  CLEANUP(buffer_clear) struct buffer body = {0};
  state_put_number(&body, lzma2->needs_reset);
  state_put_number(&body, lzma2->needs_properties);
  lzma_window_save(&lzma2->window, sealer);
  lzma_decoder_save(&lzma2->decoder, &body);
  state_sealer_add(sealer, body.data, body.len);
}

void
lzma2_restore(struct lzma2 *lzma2, struct state_reader *reader)
{
  lzma_window_restore(&lzma2->window, reader);
  lzma2->needs_reset = state_get_number_up_to(reader, 1) != 0;
  lzma2->needs_properties = state_get_number_up_to(reader, 1) != 0;
  lzma_decoder_restore(&lzma2->decoder, &lzma2->window, reader);
}
