/* SPDX-License-Identifier: Apache-2.0 */
/* The filters that an xz file may have in front of LZMA2: they bring bytes into a form that
 * compresses better, and are undone here. Those of machine code write where a call leads as an
 * address, in place of how far away that is, so that calls of one function look alike; delta writes
 * how bytes differ from those some places before. liblzma undoes them too, but its state cannot be
 * saved.
 *
 * Owned by one block; no locking. */
#ifndef POPULATOR_FORMAT_XZ_FILTER_H
#define POPULATOR_FORMAT_XZ_FILTER_H

#include <lzma.h>
#include <stdbool.h>

#include "populator/format/state.h"

/* What a filter leaves for later is shorter. */
#define XZ_FILTER_HELD_MAX ((size_t)16)

struct xz_filter {
  lzma_vli id;
  uint32_t position; /* of the next byte, as whoever filtered has counted */
  union {
    /* Of x86. An opcode may lie within what follows another one; which of those just before were
     * left as they are decides what is to be done. */
    struct {
      uint32_t opcode_at; /* the position of the last one */
      uint32_t unchanged;
    };
    /* Of delta. */
    struct {
      uint32_t distance;
      uint8_t before[LZMA_DELTA_DIST_MAX]; /* the byte at position i, at i modulo their number */
    };
  };
};

/* Whether it is one that can be undone: `said` is as liblzma has decoded it from a header. */
bool xz_filter_is_known(const lzma_filter *said);
/* For the beginning of a block. */
void xz_filter_begin(struct xz_filter *filter, const lzma_filter *said);
/* Undoes it, in place, for as many of the bytes as it can, and returns their number. What is left
 * is to be handed over again, with more behind it. Where there is no more, it is right as it is. */
size_t xz_filter_undo(struct xz_filter *filter, uint8_t *bytes, size_t len);

void xz_filter_save(const struct xz_filter *filter, struct buffer *body);
/* Marks the reader failed when the state is not one. */
void xz_filter_restore(struct xz_filter *filter, struct state_reader *reader);

#endif
