/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/state.h"

#include <stdlib.h>
#include <zstd.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"

/* In front of the frame: the form, the length of the body, the length of the frame. */
#define SEAL_BYTES ((size_t)(4 + 8 + 8))
/* A checkpoint is made every few seconds by the thread that also reads: speed counts. */
#define LEVEL 1

static void
free_compressor(ZSTD_CCtx **context)
{
  (void)ZSTD_freeCCtx(*context);
}

int
state_seal(uint32_t form, const struct buffer *body, struct buffer *state, struct error **err)
{
  CLEANUP(free_compressor) ZSTD_CCtx *context = ZSTD_createCCtx();
  size_t room = ZSTD_compressBound(body->len);
  CLEANUP(freep) void *frame = malloc(room);
  if (!context || !frame)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory to save %zu bytes of state",
                     body->len);
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  size_t len = ZSTD_compress2(context, frame, room, body->data, body->len);
  if (ZSTD_isError(len))
    return error_set(err, ERROR_INTERNAL, "save state: %s", ZSTD_getErrorName(len));
  buffer_append_u32(state, form);
  buffer_append_u64(state, body->len);
  buffer_append_u64(state, len);
  if (!buffer_append(state, frame, len))
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "a saved state of %zu bytes is too long", len);
  return 0;
}

int
state_unseal(uint32_t form, const void *state, size_t len, size_t max_len, struct buffer *ret_body,
             size_t *ret_used, struct error **err)
{
  const char *bytes = state;
  if (len < SEAL_BYTES || bytes_le32(bytes) != form)
    return error_set(err, ERROR_DATA_LOSS, "saved state: of another form");
  uint64_t body_len = bytes_le64(bytes + 4);
  uint64_t frame_len = bytes_le64(bytes + 12);
  if (body_len > max_len || frame_len > len - SEAL_BYTES)
    return error_set(err, ERROR_DATA_LOSS, "saved state: wrong length");
  CLEANUP(freep) char *body = malloc(body_len + 1);
  if (!body)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a saved state");
  size_t got = ZSTD_decompress(body, body_len, bytes + SEAL_BYTES, frame_len);
  if (ZSTD_isError(got))
    return error_set(err, ERROR_DATA_LOSS, "saved state: %s", ZSTD_getErrorName(got));
  if (got != body_len)
    return error_set(err, ERROR_DATA_LOSS, "saved state: shorter than it says");
  body[body_len] = '\0';
  *ret_body = (struct buffer){.data = TAKE(body), .len = body_len, .room = body_len + 1};
  *ret_used = SEAL_BYTES + frame_len;
  return 0;
}

void
state_put_number(struct buffer *body, uint64_t value)
{
  unsigned char out[10];
  size_t len = 0;
  for (; value >= 0x80; value >>= 7)
    out[len++] = (unsigned char)(value | 0x80);
  out[len++] = (unsigned char)value;
  (void)buffer_append(body, out, len);
}

void
state_put_bytes(struct buffer *body, const void *data, size_t len)
{
  state_put_number(body, len);
  (void)buffer_append(body, data, len);
}

uint64_t
state_get_number(struct state_reader *reader)
{
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (reader->failed || reader->left == 0)
      break;
    unsigned char byte = *reader->at++;
    reader->left--;
    if (shift == 63 && byte > 1)
      break;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  reader->failed = true;
  return 0;
}

uint64_t
state_get_number_up_to(struct state_reader *reader, uint64_t max)
{
  uint64_t value = state_get_number(reader);
  if (value <= max)
    return value;
  reader->failed = true;
  return 0;
}

const void *
state_get_bytes(struct state_reader *reader, size_t max_len, size_t *ret_len)
{
  uint64_t len = state_get_number_up_to(reader, max_len);
  if (reader->failed || len > reader->left) {
    reader->failed = true;
    return NULL;
  }
  const void *data = reader->at;
  reader->at += len;
  reader->left -= len;
  *ret_len = len;
  return data;
}
