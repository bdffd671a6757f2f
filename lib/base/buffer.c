/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

bool
buffer_append(struct buffer *buffer, const void *data, size_t len)
{
  if (buffer->limit && (len > buffer->limit || buffer->len > buffer->limit - len))
    return false;
  if (buffer->room - buffer->len < len + 1) {
    size_t room = buffer->room ? buffer->room : 256;
    while (room - buffer->len < len + 1)
      room *= 2;
    buffer->data = xrealloc(buffer->data, room, 1);
    buffer->room = room;
  }
  if (len > 0)
    memcpy(buffer->data + buffer->len, data, len);
  buffer->len += len;
  buffer->data[buffer->len] = '\0';
  return true;
}

bool
buffer_append_text(struct buffer *buffer, const char *text)
{
  return buffer_append(buffer, text, strlen(text));
}

static void
append_little_endian(struct buffer *buffer, uint64_t value, size_t bytes)
{
  unsigned char out[8];
  for (size_t i = 0; i < bytes; i++)
    out[i] = (unsigned char)(value >> (8 * i));
  (void)buffer_append(buffer, out, bytes);
}

void
buffer_append_u32(struct buffer *buffer, uint32_t value)
{
  append_little_endian(buffer, value, 4);
}

void
buffer_append_u64(struct buffer *buffer, uint64_t value)
{
  append_little_endian(buffer, value, 8);
}

void
buffer_clear(struct buffer *buffer)
{
  free(buffer->data);
  *buffer = (struct buffer){.limit = buffer->limit};
}
