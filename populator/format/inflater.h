/* SPDX-License-Identifier: Apache-2.0 */
/* Raw deflate through ISA-L, in pieces, with a state that can be saved in the middle.
 *
 * ISA-L's own state is plain data, but it holds decoding tables that its assembly follows blindly:
 * written to a checkpoint and read back it would be a way into the process. What is saved here are
 * only things that deflate itself defines: the last 32 KiB of output, the bits taken but not
 * decoded, and where in a block that is. Inside a block with tables of its own that is not enough;
 * inflater_settle() then decodes on to the end of the block, at most a few hundred kB in practice.
 *
 * Owned by one stream; no locking. */
#ifndef POPULATOR_FORMAT_INFLATER_H
#define POPULATOR_FORMAT_INFLATER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/buffer.h"
#include "lib/base/error.h"
#include "populator/format/state.h"

/* Bytes behind the end of the deflate stream that may have been taken along. */
#define INFLATER_LEFTOVER_MAX 8
/* inflater_settle() gives up beyond: deflate knows no limit to a block. */
#define INFLATER_SETTLE_MAX ((size_t)64 << 20)

struct inflater;

struct inflater *inflater_new(void);
void inflater_free(struct inflater *inflater);
DEFINE_CLEANUP(struct inflater *, inflater_free)
/* For the next stream. */
void inflater_reset(struct inflater *inflater);

/* Decodes from in to out, as much as there is or has room. *ret_taken and *ret_made may both be 0:
 * then more input is needed. DATA_LOSS when it is not deflate. */
int inflater_run(struct inflater *inflater, const void *in, size_t in_len, void *out,
                 size_t out_len, size_t *ret_taken, size_t *ret_made, struct error **err);
/* The stream has ended and all its output was given. */
bool inflater_is_done(const struct inflater *inflater);
/* Hands back what was taken from behind the end; once, when it is done. */
size_t inflater_leftover(struct inflater *inflater, unsigned char bytes[INFLATER_LEFTOVER_MAX]);

/* Decodes on, output appended to *out, until the state can be saved or the stream has ended.
 * *ret_is_settled is false when the input did not suffice: call again with more; or when *out
 * became longer than INFLATER_SETTLE_MAX: then it cannot be saved for now. Nothing is lost either
 * way. */
int inflater_settle(struct inflater *inflater, const void *in, size_t in_len, struct buffer *out,
                    size_t *ret_taken, bool *ret_is_settled, struct error **err);
/* Only when settled and not done. */
void inflater_save(const struct inflater *inflater, struct buffer *body);
/* Into one that is new or reset. */
int inflater_restore(struct inflater *inflater, struct state_reader *state, struct error **err);

#endif
