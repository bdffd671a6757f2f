/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/xxh64.h"

#include <string.h>

#include "populator/format/bytes.h"

#define PRIME_1 0x9e3779b185ebca87ULL
#define PRIME_2 0xc2b2ae3d27d4eb4fULL
#define PRIME_3 0x165667b19e3779f9ULL
#define PRIME_4 0x85ebca77c2b2ae63ULL
#define PRIME_5 0x27d4eb2f165667c5ULL

static inline uint64_t
rotate(uint64_t value, unsigned bits)
{
  return value << bits | value >> (64 - bits);
}

static inline uint64_t
mix(uint64_t lane, uint64_t input)
{
  return rotate(lane + input * PRIME_2, 31) * PRIME_1;
}

static inline uint64_t
merge(uint64_t value, uint64_t lane)
{
  return (value ^ mix(0, lane)) * PRIME_1 + PRIME_4;
}

void
xxh64_init(struct xxh64 *hash)
{
  *hash = (struct xxh64){.lanes = {PRIME_1 + PRIME_2, PRIME_2, 0, -PRIME_1}};
}

/* The lanes in registers: they depend on nothing but themselves. */
static void
add_stripes(struct xxh64 *hash, const unsigned char *bytes, size_t count)
{
  uint64_t a = hash->lanes[0], b = hash->lanes[1], c = hash->lanes[2], d = hash->lanes[3];
  for (; count > 0; count--, bytes += XXH64_STRIPE) {
    a = mix(a, bytes_le64(bytes));
    b = mix(b, bytes_le64(bytes + 8));
    c = mix(c, bytes_le64(bytes + 16));
    d = mix(d, bytes_le64(bytes + 24));
  }
  hash->lanes[0] = a;
  hash->lanes[1] = b;
  hash->lanes[2] = c;
  hash->lanes[3] = d;
}

void
xxh64_add(struct xxh64 *hash, const void *data, size_t len)
{
  const unsigned char *bytes = data;
  size_t held = hash->len % XXH64_STRIPE;
  hash->len += len;
  if (held > 0) {
    size_t part = XXH64_STRIPE - held < len ? XXH64_STRIPE - held : len;
    memcpy(hash->rest + held, bytes, part);
    bytes += part;
    len -= part;
    if (held + part < XXH64_STRIPE)
      return;
    add_stripes(hash, hash->rest, 1);
  }
  size_t stripes = len / XXH64_STRIPE;
  add_stripes(hash, bytes, stripes);
  if (len % XXH64_STRIPE > 0)
    memcpy(hash->rest, bytes + stripes * XXH64_STRIPE, len % XXH64_STRIPE);
}

static uint64_t
add_rest(uint64_t value, const unsigned char *bytes, size_t len)
{
  for (; len >= 8; len -= 8, bytes += 8)
    value = rotate(value ^ mix(0, bytes_le64(bytes)), 27) * PRIME_1 + PRIME_4;
  if (len >= 4) {
    value = rotate(value ^ bytes_le32(bytes) * PRIME_1, 23) * PRIME_2 + PRIME_3;
    bytes += 4;
    len -= 4;
  }
  for (; len > 0; len--, bytes++)
    value = rotate(value ^ *bytes * PRIME_5, 11) * PRIME_1;
  return value;
}

uint64_t
xxh64_value(const struct xxh64 *hash)
{
  const uint64_t *lanes = hash->lanes;
  uint64_t value = PRIME_5;
  if (hash->len >= XXH64_STRIPE) {
    value = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
    for (size_t i = 0; i < 4; i++)
      value = merge(value, lanes[i]);
  }
  value = add_rest(value + hash->len, hash->rest, hash->len % XXH64_STRIPE);
  value = (value ^ value >> 33) * PRIME_2;
  value = (value ^ value >> 29) * PRIME_3;
  return value ^ value >> 32;
}

void
xxh64_save(const struct xxh64 *hash, struct buffer *body)
{
  for (size_t i = 0; i < 4; i++)
    state_put_number(body, hash->lanes[i]);
  state_put_number(body, hash->len);
  state_put_bytes(body, hash->rest, hash->len % XXH64_STRIPE);
}

void
xxh64_restore(struct xxh64 *hash, struct state_reader *reader)
{
  size_t rest_len = 0;
  *hash = (struct xxh64){0};
  for (size_t i = 0; i < 4; i++)
    hash->lanes[i] = state_get_number(reader);
  hash->len = state_get_number(reader);
  const void *rest = state_get_bytes(reader, XXH64_STRIPE, &rest_len);
  if (reader->failed || rest_len != hash->len % XXH64_STRIPE) {
    reader->failed = true;
    return;
  }
  memcpy(hash->rest, rest, rest_len);
}
