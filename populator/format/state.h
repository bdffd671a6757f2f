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
#include "lib/base/error.h"

/* Appends the sealed body to *state. `form` changes with the meaning of the body. */
int state_seal(uint32_t form, const struct buffer *body, struct buffer *state, struct error **err);
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
