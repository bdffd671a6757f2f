/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that are in force between two blocks of a zstd frame: each block may bring some of its
 * own, or use those of the block before once more. They are kept as the blocks described them, so
 * that they can be described to another decoder. */
#ifndef POPULATOR_FORMAT_ZSTD_TABLES_H
#define POPULATOR_FORMAT_ZSTD_TABLES_H

#include "lib/base/buffer.h"
#include "populator/format/state.h"
#include "populator/format/zstd_block.h"

/* Its first byte and at most 127 more. */
#define ZSTD_TABLES_TREE_MAX 128

struct zstd_table {
  enum zstd_block_mode mode; /* never ZSTD_BLOCK_REPEATED */
  /* The decoder was begun behind the block that said so, and could not be told: no dictionary can
   * have such a table. */
  bool is_untold;
  size_t len;
  unsigned char bytes[ZSTD_FSE_DESCRIPTION_MAX];
};

struct zstd_tables {
  unsigned char tree[ZSTD_TABLES_TREE_MAX];
  size_t tree_len;    /* 0: there is none yet */
  bool has_sequences; /* a block has had some, so that there are tables for them */
  struct zstd_table of[ZSTD_FSE_KINDS];
};

void zstd_tables_init(struct zstd_tables *tables);
/* Whether the block uses nothing of an earlier one that there is not. */
bool zstd_tables_suffice(const struct zstd_tables *tables, const struct zstd_block *block);
/* Makes a block that uses again what the decoder could not be told bring it itself. False, and
 * *out is empty, when it may stay as it is. */
bool zstd_tables_amend(const struct zstd_tables *tables, const struct zstd_block *block,
                       const unsigned char *bytes, struct buffer *out);
/* The block was decoded. */
void zstd_tables_follow(struct zstd_tables *tables, const struct zstd_block *block);
void zstd_table_build(const struct zstd_table *table, unsigned kind, struct zstd_fse *ret_table);

void zstd_tables_save(const struct zstd_tables *tables, struct buffer *body);
/* What cannot be read marks the reader failed. */
void zstd_tables_restore(struct zstd_tables *tables, struct state_reader *reader);

#endif
