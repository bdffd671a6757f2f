/* SPDX-License-Identifier: Apache-2.0 */
/* The tables by which zstd codes its sequences (RFC 8878, section 4.1): what a description in a
 * block says, where it ends, and the table that is made of it.
 *
 * libzstd decodes; this is for what libzstd does not tell: zstd_offsets.h. */
#ifndef POPULATOR_FORMAT_ZSTD_FSE_H
#define POPULATOR_FORMAT_ZSTD_FSE_H

#include <stddef.h>
#include <stdint.h>

/* What is coded, in the order of a block. */
enum { ZSTD_FSE_LITERALS, ZSTD_FSE_OFFSETS, ZSTD_FSE_MATCHES, ZSTD_FSE_KINDS };

#define ZSTD_FSE_SYMBOLS_MAX 53
#define ZSTD_FSE_STATES_MAX 512
/* The longest that there can be: 53 symbols of 12 bits each, and what stands in front. */
#define ZSTD_FSE_DESCRIPTION_MAX 96

struct zstd_fse_counts {
  unsigned log;                     /* of how many states there are */
  unsigned symbols;                 /* how many have a count */
  int16_t of[ZSTD_FSE_SYMBOLS_MAX]; /* -1: less than one */
};

struct zstd_fse_state {
  uint16_t base; /* of the next state, to which so many bits are added */
  uint8_t bits;
  uint8_t symbol;
};

struct zstd_fse {
  unsigned log;
  struct zstd_fse_state states[ZSTD_FSE_STATES_MAX];
};

/* The largest symbol that may be coded so. */
unsigned zstd_fse_symbol_max(unsigned kind);
/* The description that is used where a block brings none. */
const unsigned char *zstd_fse_predefined(unsigned kind, size_t *ret_len);

/* How long the description is that `bytes` begin with; 0 when it is none. */
size_t zstd_fse_read(unsigned kind, const unsigned char *bytes, size_t len,
                     struct zstd_fse_counts *ret_counts);
/* Of counts that were read. */
void zstd_fse_build(const struct zstd_fse_counts *counts, struct zstd_fse *ret_table);
/* The table of one symbol, which takes no bits. */
void zstd_fse_build_single(uint8_t symbol, struct zstd_fse *ret_table);

#endif
