/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream writes into a checkpoint, and reads back in another process.
 *
 * A state is sealed: compressed, with a checksum and its own length, under a name that says who
 * wrote it in which form. It comes back from the pool, so it is as little trusted as an image: a
 * reader never goes past its end, the first bad read marks it failed and all further ones give
 * zeros, and whoever restores checks every number that memory depends on. */
#ifndef POPULATOR_FORMAT_STATE_H
#define POPULATOR_FORMAT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buffer.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"

/* What is longer, sealed, is not written: it costs more to write than to do without, and far above
 * that no OSD would take it. */
#define STATE_MAX_BYTES ((size_t)48 << 20)

/* Appends the sealed body to *state. `form` changes with the meaning of the body.
 * RESOURCE_EXHAUSTED when it is too long. */
int state_seal(uint32_t form, const struct buffer *body, struct buffer *state, struct error **err);

/* The same for a body too long to be held twice: it is handed over piece by piece. */
struct state_sealer;

/* `state` is what it is appended to, and stays the caller's. */
struct state_sealer *state_sealer_new(uint32_t form, struct buffer *state);
void state_sealer_free(struct state_sealer *sealer);
DEFINE_CLEANUP(struct state_sealer *, state_sealer_free)
void state_sealer_add(struct state_sealer *sealer, const void *data, size_t len);
/* Fails for whatever went wrong since it was made; what is in *state is then of no use. */
int state_sealer_finish(struct state_sealer *sealer, struct error **err);

/* Opens the sealed body that `state` begins with: *ret_used bytes of it. DATA_LOSS when it is not
 * one of this form or is longer than max_len. *ret_body is cleared by the caller. */
int state_unseal(uint32_t form, const void *state, size_t len, size_t max_len,
                 struct buffer *ret_body, size_t *ret_used, struct error **err);

/* Seven bits a byte: small numbers are short. */
void state_put_number(struct buffer *body, uint64_t value);
/* The length in front. */
void state_put_bytes(struct buffer *body, const void *data, size_t len);

struct state_reader {
  const unsigned char *at;
  size_t left;
  bool failed;
};

uint64_t state_get_number(struct state_reader *reader);
/* A number up to max; the reader fails when it is larger. */
uint64_t state_get_number_up_to(struct state_reader *reader, uint64_t max);
/* Points into the state; NULL, and the reader failed, when there are fewer or more than max_len. */
const void *state_get_bytes(struct state_reader *reader, size_t max_len, size_t *ret_len);

#endif
