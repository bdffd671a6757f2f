/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/wire.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

static void
put(struct wire_writer *w, const void *data, size_t len)
{
  w->data = xrealloc(w->data, w->len + len, 1);
  memcpy(w->data + w->len, data, len);
  w->len += len;
}

static void
put_little_endian(struct wire_writer *w, uint64_t value, size_t bytes)
{
  unsigned char out[8];
  for (size_t i = 0; i < bytes; i++)
    out[i] = (unsigned char)(value >> (8 * i));
  put(w, out, bytes);
}

void
wire_put_u8(struct wire_writer *w, uint8_t value)
{
  put_little_endian(w, value, 1);
}

void
wire_put_u32(struct wire_writer *w, uint32_t value)
{
  put_little_endian(w, value, 4);
}

void
wire_put_u64(struct wire_writer *w, uint64_t value)
{
  put_little_endian(w, value, 8);
}

void
wire_put_string(struct wire_writer *w, const char *s)
{
  size_t len = strlen(s);
  wire_put_u32(w, (uint32_t)len);
  put(w, s, len);
}

void
wire_put_struct(struct wire_writer *w, uint8_t version, uint8_t compat,
                const struct wire_writer *body)
{
  wire_put_u8(w, version);
  wire_put_u8(w, compat);
  wire_put_u32(w, (uint32_t)body->len);
  put(w, body->data, body->len);
}

void
wire_writer_clear(struct wire_writer *w)
{
  free(w->data);
  *w = (struct wire_writer){0};
}

/* The next len bytes; NULL, and the reader failed, when there are fewer. */
static const char *
get(struct wire_reader *r, size_t len)
{
  if (r->failed || r->left < len) {
    r->failed = true;
    return NULL;
  }
  const char *data = r->at;
  r->at += len;
  r->left -= len;
  return data;
}

static uint64_t
get_little_endian(struct wire_reader *r, size_t bytes)
{
  const unsigned char *data = (const unsigned char *)get(r, bytes);
  uint64_t value = 0;
  for (size_t i = 0; data && i < bytes; i++)
    value |= (uint64_t)data[i] << (8 * i);
  return value;
}

uint8_t
wire_get_u8(struct wire_reader *r)
{
  return (uint8_t)get_little_endian(r, 1);
}

uint32_t
wire_get_u32(struct wire_reader *r)
{
  return (uint32_t)get_little_endian(r, 4);
}

uint64_t
wire_get_u64(struct wire_reader *r)
{
  return get_little_endian(r, 8);
}

char *
wire_get_string(struct wire_reader *r)
{
  uint32_t len = wire_get_u32(r);
  const char *data = get(r, len);
  return data ? xstrndup(data, len) : NULL;
}

void
wire_get_struct(struct wire_reader *r, struct wire_reader *ret_body)
{
  (void)wire_get_u8(r); /* the version it was written with */
  (void)wire_get_u8(r); /* the oldest version that can read it: fields are only ever added */
  uint32_t len = wire_get_u32(r);
  const char *data = get(r, len);
  *ret_body = (struct wire_reader){.at = data, .left = data ? len : 0, .failed = !data};
}
