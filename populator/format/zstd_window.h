/* SPDX-License-Identifier: Apache-2.0 */
/* Where a zstd frame is decoded to: a ring that holds at least the window, which is what matches
 * may refer to. It is ours and not libzstd's, so that the window can be saved; the bytes are copied
 * no more often than otherwise. Each block comes to lie behind the last one, or, when there is no
 * room, at the beginning of the ring; libzstd says how large it has to be for that.
 *
 * In front of the ring is room for a dictionary, whose content is what the ring is begun with.
 * Owned by one frame; no locking. */
#ifndef POPULATOR_FORMAT_ZSTD_WINDOW_H
#define POPULATOR_FORMAT_ZSTD_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "populator/format/decoder_memory.h"
#include "populator/format/state.h"
#include "populator/format/zstd_dictionary.h"

struct zstd_window {
  struct decoder_memory *memory;
  char *ring;       /* ZSTD_DICTIONARY_MAX bytes behind what was taken */
  size_t taken;     /* how long it may be */
  size_t len;       /* how long it is */
  size_t end;       /* of the last block */
  size_t turned_at; /* where the blocks before those at the beginning end; 0: there are none */
  size_t given;     /* what lies behind it, up to `end`, was not read yet */
  bool turns;
};

void zstd_window_init(struct zstd_window *window, struct decoder_memory *memory);
void zstd_window_clear(struct zstd_window *window);
/* For a frame, empty. The content is UINT64_MAX when its length is not known. False when there is
 * no memory. */
bool zstd_window_begin(struct zstd_window *window, uint64_t window_bytes, uint64_t content_bytes);
/* Room for a block that may be so long; all was read. */
char *zstd_window_room(struct zstd_window *window, size_t block_max, size_t *ret_len);
void zstd_window_add(struct zstd_window *window, size_t len);
/* Up to len bytes that were not read yet. */
size_t zstd_window_read(struct zstd_window *window, void *buf, size_t len);
/* The last len bytes, of which there are that many, and that are no more than the window. */
void zstd_window_save(const struct zstd_window *window, size_t len, struct state_sealer *sealer);
/* Into one that is empty. Where dictionary and content lie together; NULL when there is no room. */
const void *zstd_window_restore(struct zstd_window *window,
                                const struct zstd_dictionary *dictionary, const void *content,
                                size_t len);

#endif
