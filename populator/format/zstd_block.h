/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a compressed block of zstd are (RFC 8878, section 3.1.1.3), without decoding
 * them: which tables it brings, which of an earlier block it wants, and where its sequences are. */
#ifndef POPULATOR_FORMAT_ZSTD_BLOCK_H
#define POPULATOR_FORMAT_ZSTD_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "populator/format/zstd_fse.h"

/* How a block says which table its sequences use; the numbers are zstd's. */
enum zstd_block_mode {
  ZSTD_BLOCK_PREDEFINED,
  ZSTD_BLOCK_SINGLE, /* one symbol, always */
  ZSTD_BLOCK_DESCRIBED,
  ZSTD_BLOCK_REPEATED, /* that of the block before */
};

struct zstd_block_table {
  enum zstd_block_mode mode;
  const unsigned char *bytes; /* the symbol or the description; it points into the block */
  size_t len;
};

struct zstd_block {
  const unsigned char *tree; /* the description of the literals' code */
  size_t tree_len;           /* 0: it brings none */
  bool repeats_tree;         /* it uses that of an earlier block */
  bool has_tables;
  const unsigned char *modes; /* the byte in front of the tables, when it has some */
  struct zstd_block_table tables[ZSTD_FSE_KINDS];
  unsigned sequences;
  const unsigned char *bits; /* the sequences, up to the end of the block */
  size_t bits_len;
};

/* False when it is none; libzstd may still take what is no block by the letter of the RFC. */
bool zstd_block_parse(const unsigned char *bytes, size_t len, struct zstd_block *ret_block);

#endif
