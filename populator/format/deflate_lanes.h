/* SPDX-License-Identifier: Apache-2.0 */
/* Inflates many short deflate streams at once, each in a lane of AVX-512's vectors.
 *
 * Why: whoever inflates one stream waits. For each symbol it looks at a table whose place follows
 * from the symbol before, and branches on what it finds, which nobody can predict: for a disk's
 * clusters a branch that was guessed wrong for every twelve bytes. Of sixteen streams at a time the
 * look-ups go side by side, and nothing branches: a step takes of each stream up to two literals,
 * or one and a match, or a match, and whichever it is, the same is done with it. That is up to 1.5
 * times as fast as the fastest that does one at a time; not on every processor, so whoever uses it
 * compares the two.
 *
 * Not everything is done here. Blocks that are stored or have the fixed codes, damaged streams, and
 * all streams of processors without AVX-512 are left to the caller, who has a decoder for single
 * streams anyway, and learns from it what is wrong. */
#ifndef POPULATOR_FORMAT_DEFLATE_LANES_H
#define POPULATOR_FORMAT_DEFLATE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/cleanup.h"

/* Fewer streams than this are not worth it. */
#define DEFLATE_LANES_WORTH 12

/* A stream: what is behind its end in `in` is ignored. */
struct deflate_stream {
  const uint8_t *in;
  size_t in_len;
  uint8_t *out;
  size_t out_len; /* exactly as much as it must make */
  bool is_done;   /* else somebody else is to inflate it, from its beginning; out holds anything */
};

struct deflate_lanes;

/* NULL where the processor cannot do it. One thread at a time. */
struct deflate_lanes *deflate_lanes_new(void);
void deflate_lanes_free(struct deflate_lanes *lanes);
DEFINE_CLEANUP(struct deflate_lanes *, deflate_lanes_free)

/* Sets is_done of each; nothing is read or written beyond what they name. It is quickest when those
 * that take longest come first. */
void deflate_lanes_inflate(struct deflate_lanes *lanes, struct deflate_stream *streams,
                           size_t count);

#endif
