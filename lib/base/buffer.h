/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that grow. A buffer filled from outside is given a limit first. */
#ifndef LIB_BASE_BUFFER_H
#define LIB_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
  char *data; /* a NUL stands behind the last byte, once there is one */
  size_t len;
  size_t room;
  size_t limit; /* 0: none */
};

/* False, and nothing is changed, when the limit would be passed. */
bool buffer_append(struct buffer *buffer, const void *data, size_t len);
bool buffer_append_text(struct buffer *buffer, const char *text);
void buffer_append_u32(struct buffer *buffer, uint32_t value); /* little-endian */
void buffer_append_u64(struct buffer *buffer, uint64_t value);
void buffer_clear(struct buffer *buffer);

#endif
