/* SPDX-License-Identifier: Apache-2.0 */
/* What a zstd decoder knows between two blocks of a frame, as a dictionary (RFC 8878, section 5):
 * the tables, the three offsets, and behind them, as its content, the window. A decoder that begins
 * with it goes on where the other one was.
 *
 * It can describe every table but that of a single symbol: zstd_tables_amend() is for that. Where
 * the frame has had no table yet, any will do. */
#ifndef POPULATOR_FORMAT_ZSTD_DICTIONARY_H
#define POPULATOR_FORMAT_ZSTD_DICTIONARY_H

#include "populator/format/zstd_offsets.h"

/* All but its content. */
#define ZSTD_DICTIONARY_MAX                                                                        \
  ((size_t)(8 + ZSTD_TABLES_TREE_MAX + ZSTD_FSE_KINDS * ZSTD_FSE_DESCRIPTION_MAX + 12))

struct zstd_dictionary {
  size_t len;
  unsigned char bytes[ZSTD_DICTIONARY_MAX + 1]; /* there is room for a byte of content */
};

/* All but its content, which has to be as long as the largest of the offsets. */
void zstd_dictionary_make(const struct zstd_tables *tables, const uint32_t offsets[ZSTD_OFFSETS],
                          struct zstd_dictionary *ret_dictionary);

#endif
