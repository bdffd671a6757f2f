/* SPDX-License-Identifier: Apache-2.0 */
/* What was decoded last, which matches copy from: a ring, a little longer than the dictionary.
 *
 * The little is what lets matches be copied sixteen bytes at a time: what is written beyond a match
 * lies where nothing can refer to any more. In front of the ring stands a copy of its last byte, so
 * that "the byte before" needs no question. The memory is taken as a file asks for it, and counts
 * with that of all other decompressors. */
#ifndef POPULATOR_FORMAT_LZMA_WINDOW_H
#define POPULATOR_FORMAT_LZMA_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/error.h"
#include "populator/format/decoder_memory.h"
#include "populator/format/state.h"

/* Bytes are copied in steps of this; positions are told apart modulo this by LZMA. */
#define LZMA_WINDOW_STEP ((size_t)16)
#define LZMA_WINDOW_SLACK (4 * LZMA_WINDOW_STEP)

struct lzma_window {
  struct decoder_memory *memory;
  uint8_t *taken;
  uint8_t *ring;    /* STEP bytes in front and behind are there, too */
  size_t dict_size; /* a multiple of STEP */
  size_t ring_size;
  size_t at;        /* where the next byte goes, up to ring_size */
  bool has_wrapped; /* all of the ring holds something */
};

/* Makes room, or uses what there is, for a dictionary of so many bytes; it is empty then. False
 * when there is no memory. */
bool lzma_window_open(struct lzma_window *window, size_t dict_size);
void lzma_window_clear(struct lzma_window *window);
/* What was before can no longer be referred to. */
void lzma_window_reset(struct lzma_window *window);
/* How many bytes can be put in one stretch, at most `want`. */
size_t lzma_window_stretch(struct lzma_window *window, size_t want);
/* Bytes that fit into one stretch. */
void lzma_window_put(struct lzma_window *window, const void *data, size_t len);

void lzma_window_save(const struct lzma_window *window, struct state_sealer *sealer);
/* Into one that is open. Marks the reader failed when it cannot be. */
void lzma_window_restore(struct lzma_window *window, struct state_reader *reader);

/* Whether there is a byte so far back: 0 is the last one. */
static inline bool
lzma_window_reaches(const struct lzma_window *window, size_t at, size_t distance)
{
  return distance < window->dict_size && (distance < at || window->has_wrapped);
}

/* The place of the byte so far back, which there is. */
static inline size_t
lzma_window_place(const struct lzma_window *window, size_t at, size_t distance)
{
  return at - distance - 1 + (distance < at ? 0 : window->ring_size);
}

/* Repeats `len` bytes from `distance` back at `at`, both of which there are. */
static inline void
lzma_window_repeat(const struct lzma_window *window, size_t at, size_t distance, size_t len)
{
  size_t from = lzma_window_place(window, at, distance);
  uint8_t *to = window->ring + at;
  const uint8_t *source = window->ring + from;
  if (distance + 1 >= LZMA_WINDOW_STEP && from + len <= window->ring_size) {
    uint8_t *end = to + len;
    do {
      memcpy(to, source, LZMA_WINDOW_STEP);
      to += LZMA_WINDOW_STEP;
      source += LZMA_WINDOW_STEP;
    } while (to < end);
  } else if (distance == 0) {
    memset(to, to[-1], len);
  } else {
    for (size_t i = 0; i < len; i++) {
      to[i] = window->ring[from++];
      from = from == window->ring_size ? 0 : from;
    }
  }
}

#endif
