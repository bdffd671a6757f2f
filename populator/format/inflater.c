/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/inflater.h"

#include <assert.h>
#include <isa-l/igzip_lib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

/* Input at a time while looking for a place to save. A block header with tables of its own has 7
 * bytes at least, so that the end of such a piece falls into every one of them. */
#define SETTLE_STEP ((size_t)4)
#define SETTLE_ROOM ((size_t)64 << 10)

/* Where in a block, as saved. */
enum place {
  PLACE_HEADER, /* before a block's header, or in it */
  PLACE_STORED, /* in a block that is not compressed: so many bytes are to come */
  PLACE_FIXED,  /* in a block with the tables that deflate itself defines */
};

struct inflater {
  struct inflate_state state;
  struct inflate_state *fixed; /* one with the fixed tables in it, made when first needed */
};

struct inflater *
inflater_new(void)
{
  struct inflater *inflater = xcalloc(1, sizeof(*inflater));
  inflater_reset(inflater);
  return inflater;
}

void
inflater_free(struct inflater *inflater)
{
  if (!inflater)
    return;
  free(inflater->fixed);
  free(inflater);
}

void
inflater_reset(struct inflater *inflater)
{
  isal_inflate_init(&inflater->state);
}

static int
explain(int r, struct error **err)
{
  switch (r) {
  case ISAL_INVALID_BLOCK:
    return error_set(err, ERROR_DATA_LOSS, "damaged: a block header is not valid");
  case ISAL_INVALID_SYMBOL:
    return error_set(err, ERROR_DATA_LOSS, "damaged: a symbol is not valid");
  case ISAL_INVALID_LOOKBACK:
    return error_set(err, ERROR_DATA_LOSS, "damaged: it points before its own beginning");
  default:
    return error_set(err, ERROR_DATA_LOSS, "damaged (%d)", r);
  }
}

int
inflater_run(struct inflater *inflater, const void *in, size_t in_len, void *out, size_t out_len,
             size_t *ret_taken, size_t *ret_made, struct error **err)
{
  struct inflate_state *state = &inflater->state;
  uint32_t in_max = in_len < INT32_MAX ? (uint32_t)in_len : INT32_MAX;
  uint32_t out_max = out_len < INT32_MAX ? (uint32_t)out_len : INT32_MAX;
  state->next_in = (uint8_t *)in;
  state->avail_in = in_max;
  state->next_out = out;
  state->avail_out = out_max;
  int r = isal_inflate(state);
  if (r < 0)
    return explain(r, err);
  *ret_taken = in_max - state->avail_in;
  *ret_made = out_max - state->avail_out;
  return 0;
}

bool
inflater_is_done(const struct inflater *inflater)
{
  return inflater->state.block_state == ISAL_BLOCK_FINISH;
}

size_t
inflater_leftover(struct inflater *inflater, unsigned char bytes[INFLATER_LEFTOVER_MAX])
{
  struct inflate_state *state = &inflater->state;
  size_t count = (size_t)state->read_in_length / 8;
  assert(count <= INFLATER_LEFTOVER_MAX);
  uint64_t bits = state->read_in >> (state->read_in_length % 8);
  for (size_t i = 0; i < count; i++, bits >>= 8)
    bytes[i] = (unsigned char)bits;
  state->read_in_length = 0;
  return count;
}

/* ---- saving ------------------------------------------------------------------------------------
 */

/* The header of a block with the fixed tables, three bits, into a fresh state. */
static void
enter_fixed_block(struct inflate_state *state, uint32_t is_final)
{
  unsigned char none[1] = {0};
  state->read_in = (is_final & 1) | 1 << 1;
  state->read_in_length = 3;
  state->next_in = none;
  state->avail_in = 0;
  state->next_out = none;
  state->avail_out = 0;
  int r = isal_inflate(state);
  assert(r == ISAL_DECOMP_OK && state->block_state == ISAL_BLOCK_CODED);
  (void)r;
}

static bool
has_fixed_tables(struct inflater *inflater)
{
  if (!inflater->fixed) {
    inflater->fixed = xcalloc(1, sizeof(*inflater->fixed));
    isal_inflate_init(inflater->fixed);
    enter_fixed_block(inflater->fixed, 1);
  }
  const struct inflate_state *a = &inflater->state, *b = inflater->fixed;
  return memcmp(&a->lit_huff_code, &b->lit_huff_code, sizeof(a->lit_huff_code)) == 0 &&
         memcmp(&a->dist_huff_code, &b->dist_huff_code, sizeof(a->dist_huff_code)) == 0;
}

static bool
is_settled(struct inflater *inflater)
{
  const struct inflate_state *state = &inflater->state;
  if (state->tmp_out_valid != state->tmp_out_processed)
    return false;
  switch (state->block_state) {
  case ISAL_BLOCK_NEW_HDR:
  case ISAL_BLOCK_HDR:
  case ISAL_BLOCK_FINISH: /* there is nothing more to it */
    return true;
  case ISAL_BLOCK_TYPE0:
    return state->read_in_length == 0;
  case ISAL_BLOCK_CODED:
    return has_fixed_tables(inflater);
  default:
    return false;
  }
}

int
inflater_settle(struct inflater *inflater, const void *in, size_t in_len, struct buffer *out,
                size_t *ret_taken, bool *ret_is_settled, struct error **err)
{
  CLEANUP(freep) unsigned char *room = xcalloc(1, SETTLE_ROOM);
  const unsigned char *bytes = in;
  size_t at = 0, step = 0; /* at first only what is left to be given out */
  for (;;) {
    size_t taken, made;
    if (inflater_run(inflater, bytes + at, step, room, SETTLE_ROOM, &taken, &made, err) < 0)
      return -1;
    (void)buffer_append(out, room, made);
    at += taken;
    *ret_is_settled = is_settled(inflater);
    bool is_stuck = step > 0 && taken == 0 && made == 0;
    if (*ret_is_settled || is_stuck || out->len > INFLATER_SETTLE_MAX)
      break;
    if (made == SETTLE_ROOM)
      step = 0;
    else if (at == in_len)
      break;
    else
      step = in_len - at < SETTLE_STEP ? in_len - at : SETTLE_STEP;
  }
  *ret_taken = at;
  return 0;
}

static enum place
place_of(const struct inflate_state *state)
{
  switch (state->block_state) {
  case ISAL_BLOCK_TYPE0:
    return PLACE_STORED;
  case ISAL_BLOCK_CODED:
    return PLACE_FIXED;
  default:
    return PLACE_HEADER;
  }
}

void
inflater_save(const struct inflater *inflater, struct buffer *body)
{
  const struct inflate_state *state = &inflater->state;
  size_t end = (size_t)state->tmp_out_processed;
  size_t history = end < ISAL_DEF_HIST_SIZE ? end : ISAL_DEF_HIST_SIZE;
  state_put_bytes(body, state->tmp_out_buffer + end - history, history);
  enum place place = place_of(state);
  state_put_number(body, place);
  if (place == PLACE_STORED) {
    state_put_number(body, state->bfinal);
    state_put_number(body, (uint64_t)state->type0_block_len);
    return;
  }
  state_put_number(body, (uint64_t)state->read_in_length);
  state_put_number(body, state->read_in);
  if (place == PLACE_FIXED)
    state_put_number(body, state->bfinal);
  else
    state_put_bytes(body, state->tmp_in_buffer, (size_t)state->tmp_in_size);
}

/* ---- restoring ---------------------------------------------------------------------------------
 */

/* Bytes that the deflate stream could have had next. */
static int
feed(struct inflater *inflater, const void *in, size_t in_len, struct error **err)
{
  unsigned char none[1];
  size_t taken, made;
  if (inflater_run(inflater, in, in_len, none, 0, &taken, &made, err) < 0)
    return error_wrap(err, "saved state");
  if (taken != in_len)
    return error_set(err, ERROR_DATA_LOSS, "saved state: too much input");
  return 0;
}

static int
restore_stored(struct inflater *inflater, struct state_reader *reader, struct error **err)
{
  uint64_t is_final = state_get_number_up_to(reader, 1);
  uint64_t left = state_get_number_up_to(reader, UINT16_MAX);
  unsigned char header[] = {(unsigned char)is_final, (unsigned char)left,
                            (unsigned char)(left >> 8), (unsigned char)~left,
                            (unsigned char)(~left >> 8)};
  return reader->failed ? error_set(err, ERROR_DATA_LOSS, "saved state: damaged")
                        : feed(inflater, header, sizeof(header), err);
}

static int
restore_coded(struct inflater *inflater, enum place place, struct state_reader *reader,
              struct error **err)
{
  struct inflate_state *state = &inflater->state;
  uint64_t bit_count = state_get_number_up_to(reader, 64);
  uint64_t bits = state_get_number(reader);
  if (bit_count < 64)
    bits &= ((uint64_t)1 << bit_count) - 1;
  uint64_t is_final = 0;
  size_t header_len = 0;
  const void *header = NULL;
  if (place == PLACE_FIXED)
    is_final = state_get_number_up_to(reader, 1);
  else
    header = state_get_bytes(reader, ISAL_DEF_MAX_HDR_SIZE, &header_len);
  if (reader->failed)
    return error_set(err, ERROR_DATA_LOSS, "saved state: damaged");
  if (place == PLACE_FIXED)
    enter_fixed_block(state, (uint32_t)is_final);
  state->read_in = bits;
  state->read_in_length = (int32_t)bit_count;
  return header_len > 0 ? feed(inflater, header, header_len, err) : 0;
}

int
inflater_restore(struct inflater *inflater, struct state_reader *reader, struct error **err)
{
  size_t history_len = 0;
  const void *history = state_get_bytes(reader, ISAL_DEF_HIST_SIZE, &history_len);
  enum place place = (enum place)state_get_number_up_to(reader, PLACE_FIXED);
  if (reader->failed)
    return error_set(err, ERROR_DATA_LOSS, "saved state: damaged");
  (void)isal_inflate_set_dict(&inflater->state, (uint8_t *)history, (uint32_t)history_len);
  if (place == PLACE_STORED)
    return restore_stored(inflater, reader, err);
  return restore_coded(inflater, place, reader, err);
}
