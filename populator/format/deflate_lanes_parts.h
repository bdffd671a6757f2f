/* SPDX-License-Identifier: Apache-2.0 */
/* What deflate_lanes.c, which gives the lanes their streams, and deflate_steps.c, which has the
 * vectors, know of each other. */
#ifndef POPULATOR_FORMAT_DEFLATE_LANES_PARTS_H
#define POPULATOR_FORMAT_DEFLATE_LANES_PARTS_H

#include "populator/format/deflate_block.h"
#include "populator/format/deflate_lanes.h"

#define DEFLATE_VECTOR 8 /* 64-bit numbers in a vector */
/* Two vectors: while one waits for its look-ups, the other goes on. */
#define DEFLATE_LANES (2 * DEFLATE_VECTOR)

/* A step makes at most this much of a stream, and reads so much. While there is room for it, no
 * bounds need to be looked at; the last bytes are done one by one. */
#define DEFLATE_STEP_OUT ((uint64_t)320)
#define DEFLATE_STEP_IN ((uint64_t)16)

/* A lane without a stream goes through zeros, here, until the others are done. */
#define DEFLATE_IDLE_BYTES ((uint64_t)4096)

struct deflate_lanes {
  /* Tables of all lanes, one behind the other; a look-up may read a few bytes behind the last. */
  uint16_t litlen[DEFLATE_LANES][1 << DEFLATE_LITLEN_BITS] __attribute__((aligned(64)));
  uint32_t distance[DEFLATE_LANES][1 << DEFLATE_DISTANCE_BITS];
  uint64_t behind_the_tables;

  uint64_t at[DEFLATE_LANES] __attribute__((aligned(64))); /* address in bits */
  uint64_t at_safe[DEFLATE_LANES] __attribute__((aligned(64)));
  uint64_t made[DEFLATE_LANES] __attribute__((aligned(64))); /* bytes */
  uint64_t made_safe[DEFLATE_LANES] __attribute__((aligned(64)));
  uint8_t *out[DEFLATE_LANES]; /* where the next byte goes */

  struct deflate_stream *streams[DEFLATE_LANES]; /* NULL: idle */
  struct deflate_block blocks[DEFLATE_LANES];
  uint64_t ends[DEFLATE_LANES]; /* of the input, in bits */
  uint8_t idle_in[DEFLATE_IDLE_BYTES];
  uint8_t idle_out[DEFLATE_LANES][DEFLATE_IDLE_BYTES];
};

/* Lanes, a bit each. */
struct deflate_events {
  uint32_t near;  /* too little room for another step */
  uint32_t ended; /* their block has */
  uint32_t damaged;
};

bool deflate_steps_are_possible(void);
/* Steps of all lanes until something happens in one. Each must have room for a step. */
void deflate_steps_run(struct deflate_lanes *lanes, struct deflate_events *ret_events);

#endif
