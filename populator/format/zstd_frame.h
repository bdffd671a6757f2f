/* SPDX-License-Identifier: Apache-2.0 */
/* A frame of zstd, decoded block by block by libzstd, with a state that can be saved between any
 * two blocks (RFC 8878).
 *
 * libzstd cannot save a state, but it can begin with a dictionary, and that holds all that a
 * decoder knows between two blocks. So libzstd is handed the blocks one by one, under a frame
 * header of our own; what passes is followed (zstd_tables.h, zstd_offsets.h), and what comes out
 * lies in a window of ours (zstd_window.h). Another process makes a dictionary of what was saved,
 * and hands libzstd the rest of the blocks. The length of the content and its checksum are verified
 * here, in every frame, as libzstd could do it only for one that it has seen from its beginning.
 *
 * Owned by one stream; no locking. */
#ifndef POPULATOR_FORMAT_ZSTD_FRAME_H
#define POPULATOR_FORMAT_ZSTD_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd_errors.h>

#include "lib/base/buffer.h"
#include "lib/base/error.h"
#include "populator/format/decoder_memory.h"
#include "populator/format/state.h"

/* In front of every block. */
#define ZSTD_FRAME_BLOCK_HEADER 3
/* The longest block, without its header. */
#define ZSTD_FRAME_BLOCK_MAX ((size_t)128 << 10)
#define ZSTD_FRAME_CHECKSUM 4
/* What may have to be saved of the content: what a window of `zstd --ultra -21` holds. Whoever goes
 * on with it holds it twice for a moment. */
#define ZSTD_FRAME_SAVED_MAX ((size_t)64 << 20)

struct zstd_frame_facts {
  uint64_t window_bytes;
  uint64_t content_bytes; /* UINT64_MAX: it does not say */
  bool has_checksum;
};

struct zstd_frame;

/* NULL when there is no memory. */
struct zstd_frame *zstd_frame_new(struct decoder_memory *memory);
void zstd_frame_free(struct zstd_frame *frame);

/* Fails with what an error of libzstd means. Returns -1. */
int zstd_frame_explain(const struct decoder_memory *memory, ZSTD_ErrorCode code,
                       struct error **err);

/* For the frame whose header was read. */
int zstd_frame_begin(struct zstd_frame *frame, const struct zstd_frame_facts *facts,
                     struct error **err);
/* How many bytes lie behind the header of a block. */
int zstd_frame_block_len(const struct zstd_frame *frame,
                         const unsigned char header[ZSTD_FRAME_BLOCK_HEADER], size_t *ret_len,
                         bool *ret_is_last, struct error **err);
/* Decodes a block with its header; what the one before gave was read. */
int zstd_frame_decode(struct zstd_frame *frame, const unsigned char *block, size_t len,
                      struct error **err);
/* Up to len bytes of what was decoded; 0 when all was read. */
size_t zstd_frame_read(struct zstd_frame *frame, void *buf, size_t len);
bool zstd_frame_has_checksum(const struct zstd_frame *frame);
/* When all blocks were decoded. */
int zstd_frame_verify(const struct zstd_frame *frame,
                      const unsigned char checksum[ZSTD_FRAME_CHECKSUM], struct error **err);

/* Whether it can be saved behind the block that was decoded last; if not, perhaps behind the next.
 */
bool zstd_frame_can_save(struct zstd_frame *frame);
/* Only when it can, and all was read. */
void zstd_frame_save(struct zstd_frame *frame, struct state_sealer *sealer);
/* Instead of zstd_frame_begin(). */
int zstd_frame_restore(struct zstd_frame *frame, struct state_reader *reader, struct error **err);

#endif
