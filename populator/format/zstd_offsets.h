/* SPDX-License-Identifier: Apache-2.0 */
/* The three offsets that a zstd block may use again without naming them (RFC 8878, section
 * 3.1.1.5), as they are behind the last block. libzstd knows them and does not tell.
 *
 * To decode every block's sequences a second time would be dear, and the last few blocks nearly
 * always name three offsets. So the sequences of those are kept, and are decoded only when somebody
 * asks. What no block has named is not known; blocks of few sequences, which often name none, are
 * cheap and are all looked at.
 *
 * Owned by one frame; no locking. */
#ifndef POPULATOR_FORMAT_ZSTD_OFFSETS_H
#define POPULATOR_FORMAT_ZSTD_OFFSETS_H

#include "lib/base/cleanup.h"
#include "populator/format/zstd_tables.h"

#define ZSTD_OFFSETS 3

struct zstd_offsets;

struct zstd_offsets *zstd_offsets_new(void);
void zstd_offsets_free(struct zstd_offsets *offsets);
/* As they are now; at the beginning of a frame {1, 4, 8}. */
void zstd_offsets_set(struct zstd_offsets *offsets, const uint32_t values[ZSTD_OFFSETS]);
/* The block was decoded; the tables are those that it used. */
void zstd_offsets_follow(struct zstd_offsets *offsets, const struct zstd_block *block,
                         const struct zstd_tables *tables);
/* False when they are not known here; behind one of the next blocks they will be. */
bool zstd_offsets_get(struct zstd_offsets *offsets, uint32_t ret_values[ZSTD_OFFSETS]);

#endif
