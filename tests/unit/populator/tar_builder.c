/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/populator/tar_builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"

#define BLOCK 512

static const char magic_ustar[] = {'u', 's', 't', 'a', 'r', '\0', '0', '0'};
static const char magic_gnu[] = {'u', 's', 't', 'a', 'r', ' ', ' ', '\0'};

static void
put(char *block, size_t offset, size_t room, const char *text)
{
  size_t len = text ? strlen(text) : 0;
  if (len > 0)
    memcpy(block + offset, text, len < room ? len : room);
}

static void
put_sum(char *block, const struct tar_fields *fields)
{
  int sum = 0;
  memset(block + 148, ' ', 8);
  for (size_t i = 0; i < BLOCK; i++)
    sum += fields->signed_sum ? (signed char)block[i] : (unsigned char)block[i];
  (void)snprintf(block + 148, 8, "%06o", (unsigned)(sum + (fields->wrong_sum ? 1 : 0)));
}

void
tar_build_header(struct buffer *archive, const struct tar_fields *fields)
{
  char block[BLOCK] = {0};
  put(block, 0, 100, fields->name);
  put(block, 100, 8, "0000644");
  put(block, 108, 8, "0000153");
  put(block, 116, 8, "0000153");
  if (fields->size_raw)
    memcpy(block + 124, fields->size_raw, 12);
  else
    (void)snprintf(block + 124, 12, "%011" PRIo64, fields->size);
  block[156] = fields->type;
  put(block, 157, 100, fields->link);
  if (!fields->is_old)
    memcpy(block + 257, fields->is_gnu ? magic_gnu : magic_ustar, sizeof(magic_gnu));
  put(block, 345, 155, fields->prefix);
  if (fields->is_extended)
    block[482] = 1;
  put_sum(block, fields);
  (void)buffer_append(archive, block, BLOCK);
}

void
tar_build_content(struct buffer *archive, const void *data, size_t len)
{
  static const char zeros[BLOCK];
  (void)buffer_append(archive, data, len);
  (void)buffer_append(archive, zeros, -len & (BLOCK - 1));
}

void
tar_build(struct buffer *archive, char type, const char *name, const char *link,
          const char *content)
{
  size_t len = content ? strlen(content) : 0;
  const struct tar_fields fields = {.type = type, .name = name, .link = link, .size = len};
  tar_build_header(archive, &fields);
  tar_build_content(archive, content ? content : "", len);
}

void
tar_build_pax(struct buffer *archive, const char *name, const char *value)
{
  size_t bare = strlen(name) + strlen(value) + 3;
  size_t len = bare + 1;
  for (size_t i = 0; i < 3; i++) { /* the length counts its own digits */
    char digits[24];
    len = bare + (size_t)snprintf(digits, sizeof(digits), "%zu", len);
  }
  CLEANUP(freep) char *record = xasprintf("%zu %s=%s\n", len, name, value);
  tar_build(archive, 'x', "pax", NULL, record);
}

void
tar_build_end(struct buffer *archive)
{
  static const char zeros[2 * BLOCK];
  (void)buffer_append(archive, zeros, sizeof(zeros));
}
