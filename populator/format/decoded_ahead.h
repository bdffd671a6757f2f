/* SPDX-License-Identifier: Apache-2.0 */
/* What a decompressor has decoded to come to a place where it can be saved, and nobody has read
 * yet. It belongs to the stream, and to what is saved of it. */
#ifndef POPULATOR_FORMAT_DECODED_AHEAD_H
#define POPULATOR_FORMAT_DECODED_AHEAD_H

#include "lib/base/buffer.h"
#include "populator/format/state.h"

struct decoded_ahead {
  struct buffer bytes;
  size_t at; /* what lies before it was read */
};

size_t decoded_ahead_left(const struct decoded_ahead *ahead);
/* Up to len bytes of it. */
size_t decoded_ahead_read(struct decoded_ahead *ahead, void *buf, size_t len);
void decoded_ahead_add(struct decoded_ahead *ahead, const void *data, size_t len);
void decoded_ahead_save(const struct decoded_ahead *ahead, struct buffer *state);
void decoded_ahead_clear(struct decoded_ahead *ahead);

#endif
