/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of a block of an xz file, one behind the other, between LZMA2 and the reader. Each
 * undoes what it can of a buffer that they share, and leaves a few bytes until more are there.
 *
 * Owned by one block; no locking. */
#ifndef POPULATOR_FORMAT_XZ_CHAIN_H
#define POPULATOR_FORMAT_XZ_CHAIN_H

#include "lib/base/cleanup.h"
#include "populator/format/xz_filter.h"

struct xz_chain;

/* NULL where LZMA2 is alone. `filters` are as liblzma has decoded them from a header, and known. */
struct xz_chain *xz_chain_new(const lzma_filter *filters);
void xz_chain_free(struct xz_chain *chain);
DEFINE_CLEANUP(struct xz_chain *, xz_chain_free)

/* Whether all but the last, which is LZMA2, can be undone. */
bool xz_chain_is_known(const lzma_filter *filters);
/* The last one. */
const lzma_filter *xz_chain_last(const lzma_filter *filters);

/* Room for what LZMA2 gives; all was read. */
uint8_t *xz_chain_room(struct xz_chain *chain, size_t *ret_len);
/* So many bytes are there; is_end: no more will come. */
void xz_chain_add(struct xz_chain *chain, size_t len, bool is_end);
/* Up to len bytes of what is undone. */
size_t xz_chain_read(struct xz_chain *chain, void *buf, size_t len);
/* Whether all of it was read. */
bool xz_chain_is_read(const struct xz_chain *chain);

/* Only when all was read. NULL is fine: that there is none is saved as well. */
void xz_chain_save(const struct xz_chain *chain, struct buffer *body);
/* Marks the reader failed when the state is not one. */
struct xz_chain *xz_chain_restore(struct state_reader *reader);

#endif
