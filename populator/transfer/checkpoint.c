/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/checkpoint.h"

#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "lib/ceph/wire.h"

/* Changes with the format of any part: an older record is then no record. */
#define MAGIC "imprint checkpoint 1\n"

static void
append_bytes(struct buffer *data, const void *bytes, size_t len)
{
  buffer_append_u64(data, len);
  (void)buffer_append(data, bytes, len);
}

void
checkpoint_encode(const struct checkpoint *checkpoint, struct buffer *data)
{
  size_t start = data->len;
  (void)buffer_append_text(data, MAGIC);
  buffer_append_u32(data, (uint32_t)checkpoint->kind);
  append_bytes(data, checkpoint->identity, strlen(checkpoint->identity));
  buffer_append_u64(data, checkpoint->virtual_size);
  buffer_append_u64(data, checkpoint->position);
  buffer_append_u64(data, checkpoint->chunk_bytes);
  buffer_append_u32(data, checkpoint->has_checksum);
  if (checkpoint->has_checksum)
    checksum_save(&checkpoint->checksum, data);
  append_bytes(data, checkpoint->state.data, checkpoint->state.len);
  if (checkpoint->tail.len > 0)
    append_bytes(data, checkpoint->tail.data, checkpoint->tail.len);
  char digest[DIGEST_SHA256_HEX];
  digest_sha256_hex(data->data + start, data->len - start, digest);
  (void)buffer_append(data, digest, DIGEST_SHA256_HEX - 1);
}

/* The record without its digest, if that is right. */
static bool
check_digest(const char *data, size_t *len)
{
  size_t digest_len = DIGEST_SHA256_HEX - 1;
  if (*len < digest_len + strlen(MAGIC) || memcmp(data, MAGIC, strlen(MAGIC)) != 0)
    return false;
  *len -= digest_len;
  char digest[DIGEST_SHA256_HEX];
  digest_sha256_hex(data, *len, digest);
  return memcmp(digest, data + *len, digest_len) == 0;
}

static const char *
get_bytes(struct wire_reader *reader, size_t *ret_len)
{
  uint64_t len = wire_get_u64(reader);
  if (reader->failed || len > reader->left) {
    reader->failed = true;
    return NULL;
  }
  const char *bytes = reader->at;
  reader->at += len;
  reader->left -= len;
  *ret_len = len;
  return bytes;
}

static void
decode(struct wire_reader *reader, struct checkpoint *checkpoint)
{
  size_t len = 0;
  uint32_t kind = wire_get_u32(reader);
  if (kind > CHECKPOINT_DONE)
    reader->failed = true;
  checkpoint->kind = (enum checkpoint_kind)kind;
  const char *identity = get_bytes(reader, &len);
  if (identity)
    checkpoint->identity = xstrndup(identity, len);
  checkpoint->virtual_size = wire_get_u64(reader);
  checkpoint->position = wire_get_u64(reader);
  checkpoint->chunk_bytes = wire_get_u64(reader);
  checkpoint->has_checksum = wire_get_u32(reader) != 0;
  if (checkpoint->has_checksum)
    checksum_restore(reader, &checkpoint->checksum);
  const char *state = get_bytes(reader, &len);
  if (state)
    (void)buffer_append(&checkpoint->state, state, len);
  const char *tail = reader->left > 0 ? get_bytes(reader, &len) : NULL;
  if (tail)
    (void)buffer_append(&checkpoint->tail, tail, len);
}

bool
checkpoint_decode(const void *data, size_t len, struct checkpoint *ret_checkpoint)
{
  if (!check_digest(data, &len))
    return false;
  struct wire_reader reader = {.at = (const char *)data + strlen(MAGIC),
                               .left = len - strlen(MAGIC)};
  struct checkpoint checkpoint = {0};
  decode(&reader, &checkpoint);
  bool is_sound = !reader.failed && reader.left == 0;
  if (checkpoint.kind == CHECKPOINT_CHUNKS)
    is_sound =
        is_sound && checkpoint.chunk_bytes > 0 && checkpoint.position % checkpoint.chunk_bytes == 0;
  if (!is_sound) {
    checkpoint_clear(&checkpoint);
    return false;
  }
  *ret_checkpoint = checkpoint;
  return true;
}

void
checkpoint_clear(struct checkpoint *checkpoint)
{
  free(checkpoint->identity);
  buffer_clear(&checkpoint->state);
  buffer_clear(&checkpoint->tail);
  *checkpoint = (struct checkpoint){0};
}
