/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/decoded_ahead.h"

#include <string.h>

size_t
decoded_ahead_left(const struct decoded_ahead *ahead)
{
  return ahead->bytes.len - ahead->at;
}

size_t
decoded_ahead_read(struct decoded_ahead *ahead, void *buf, size_t len)
{
  size_t left = decoded_ahead_left(ahead);
  size_t got = left < len ? left : len;
  if (got == 0)
    return 0;
  memcpy(buf, ahead->bytes.data + ahead->at, got);
  ahead->at += got;
  if (got == left)
    decoded_ahead_clear(ahead);
  return got;
}

void
decoded_ahead_add(struct decoded_ahead *ahead, const void *data, size_t len)
{
  (void)buffer_append(&ahead->bytes, data, len);
}

void
decoded_ahead_save(const struct decoded_ahead *ahead, struct buffer *state)
{
  size_t left = decoded_ahead_left(ahead);
  state_put_bytes(state, left ? ahead->bytes.data + ahead->at : "", left);
}

void
decoded_ahead_clear(struct decoded_ahead *ahead)
{
  buffer_clear(&ahead->bytes);
  ahead->at = 0;
}
