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

/* What the compressor is emptied into before it is appended. */
#define PIECE_BYTES ((size_t)128 << 10)

struct state_sealer {
  struct buffer *state;
  size_t start; /* where the seal stands in the state */
  uint64_t body_len;
  ZSTD_CCtx *context;
  struct error *failure; /* the first one */
  char piece[PIECE_BYTES];
};

struct state_sealer *
state_sealer_new(uint32_t form, struct buffer *state)
{
  struct state_sealer *sealer = xcalloc(1, sizeof(*sealer));
  sealer->state = state;
  sealer->start = state->len;
  sealer->context = ZSTD_createCCtx();
  if (!sealer->context) {
    (void)error_set(&sealer->failure, ERROR_RESOURCE_EXHAUSTED, "no memory to save a state");
    return sealer;
  }
  (void)ZSTD_CCtx_setParameter(sealer->context, ZSTD_c_compressionLevel, LEVEL);
  (void)ZSTD_CCtx_setParameter(sealer->context, ZSTD_c_checksumFlag, 1);
  buffer_append_u32(state, form);
  buffer_append_u64(state, 0); /* both lengths are known at the end */
  buffer_append_u64(state, 0);
  return sealer;
}

void
state_sealer_free(struct state_sealer *sealer)
{
  if (!sealer)
    return;
  (void)ZSTD_freeCCtx(sealer->context);
  error_free(sealer->failure);
  free(sealer);
}

static void
append_piece(struct state_sealer *sealer, size_t len)
{
  size_t sealed = sealer->state->len - sealer->start;
  if (len > STATE_MAX_BYTES - sealed || !buffer_append(sealer->state, sealer->piece, len))
    (void)error_set(&sealer->failure, ERROR_RESOURCE_EXHAUSTED,
                    "a saved state of %zu bytes is too long", sealed + len);
}

static void
compress(struct state_sealer *sealer, ZSTD_inBuffer *in, ZSTD_EndDirective end)
{
  size_t left = 1;
  while (!sealer->failure && (in->pos < in->size || (end == ZSTD_e_end && left > 0))) {
    ZSTD_outBuffer out = {.dst = sealer->piece, .size = sizeof(sealer->piece)};
    left = ZSTD_compressStream2(sealer->context, &out, in, end);
    if (ZSTD_isError(left))
      (void)error_set(&sealer->failure, ERROR_INTERNAL, "save state: %s", ZSTD_getErrorName(left));
    else
      append_piece(sealer, out.pos);
  }
}

void
state_sealer_add(struct state_sealer *sealer, const void *data, size_t len)
{
  ZSTD_inBuffer in = {.src = data, .size = len};
  sealer->body_len += len;
  compress(sealer, &in, ZSTD_e_continue);
}

int
state_sealer_finish(struct state_sealer *sealer, struct error **err)
{
  ZSTD_inBuffer in = {0};
  compress(sealer, &in, ZSTD_e_end);
  if (sealer->failure)
    return error_set(err, sealer->failure->code, "%s", sealer->failure->message);
  char *seal = sealer->state->data + sealer->start;
  bytes_put_le64(seal + 4, sealer->body_len);
  bytes_put_le64(seal + 12, sealer->state->len - sealer->start - SEAL_BYTES);
  return 0;
}

int
state_seal(uint32_t form, const struct buffer *body, struct buffer *state, struct error **err)
{
  CLEANUP(state_sealer_freep) struct state_sealer *sealer = state_sealer_new(form, state);
  if (sealer->context)
    (void)ZSTD_CCtx_setPledgedSrcSize(sealer->context, body->len);
  state_sealer_add(sealer, body->data, body->len);
  return state_sealer_finish(sealer, err);
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
