/* SPDX-License-Identifier: Apache-2.0 */
/* A block of an xz file, behind its header: the data, padding, and a check of what it holds. In
 * contrast to liblzma's, this decoder can be saved inside a block, whose length the format does not
 * limit: the xz command makes one of a whole file.
 *
 * Owned by one stream; no locking. */
#ifndef POPULATOR_FORMAT_XZ_BLOCK_H
#define POPULATOR_FORMAT_XZ_BLOCK_H

#include <lzma.h>
#include <stdbool.h>

#include "lib/base/cleanup.h"
#include "populator/format/lzma2.h"
#include "populator/format/state.h"

struct xz_block;

/* The dictionary's memory is taken from `memory`, which outlives it. */
struct xz_block *xz_block_new(struct decoder_memory *memory);
void xz_block_free(struct xz_block *block);
DEFINE_CLEANUP(struct xz_block *, xz_block_free)

/* Whether it can be decoded here: `header` is as liblzma has decoded it. */
bool xz_block_is_known(const lzma_block *header);
/* Begins such a block. LZMA_MEM_ERROR when there is no memory. */
lzma_ret xz_block_begin(struct xz_block *block, const lzma_block *header);
/* Decodes from in to out, and moves both on, until either is used up, or where it can be saved.
 * LZMA_STREAM_END when the block has ended and its check is right; LZMA_DATA_ERROR, from then on,
 * when it is damaged. */
lzma_ret xz_block_run(struct xz_block *block, struct lzma2_io *io);

/* Of one that has ended: what the index says of it. */
uint64_t xz_block_unpadded_size(const struct xz_block *block);
uint64_t xz_block_uncompressed_size(const struct xz_block *block);

/* Whether it can be saved here. It can again before another 2 MiB have come out. */
bool xz_block_is_settled(const struct xz_block *block);
void xz_block_save(const struct xz_block *block, struct state_sealer *sealer);
/* `check` is the file's. LZMA_DATA_ERROR when the state is not one. */
lzma_ret xz_block_restore(struct xz_block *block, lzma_check check, struct state_reader *reader);

#endif
