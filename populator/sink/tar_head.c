/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/sink/tar_head.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"

#define BLOCK ((size_t)512)
/* What eleven octal digits hold. A larger size stands in a pax header of its own. */
#define USTAR_SIZE_MAX ((uint64_t)077777777777)

/* A field of octal digits with a NUL at its end. */
static void
put_octal(char *field, size_t len, uint64_t value)
{
  field[--len] = '\0';
  for (; len > 0; value >>= 3)
    field[--len] = (char)('0' + (value & 7));
}

static const char magic[] = {'u', 's', 't', 'a', 'r', '\0', '0', '0'};

static void
add_header(struct buffer *archive, const struct tar_head *entry, char type)
{
  char block[BLOCK] = {0};
  unsigned sum = 0;
  (void)snprintf(block, 100, "%s", entry->name);
  put_octal(block + 100, 8, entry->mode);
  put_octal(block + 108, 8, entry->owner);
  put_octal(block + 116, 8, entry->owner);
  put_octal(block + 124, 12, entry->size <= USTAR_SIZE_MAX ? entry->size : 0);
  put_octal(block + 136, 12, 0); /* the time */
  memset(block + 148, ' ', 8);   /* the sum counts itself as blanks */
  block[156] = type;
  memcpy(block + 257, magic, sizeof(magic));
  put_octal(block + 329, 8, 0);
  put_octal(block + 337, 8, 0);
  for (size_t i = 0; i < BLOCK; i++)
    sum += (unsigned char)block[i];
  put_octal(block + 148, 7, sum);
  (void)buffer_append(archive, block, BLOCK);
}

static void
add_zeros(struct buffer *archive, size_t len)
{
  static const char zeros[2 * BLOCK];
  (void)buffer_append(archive, zeros, len);
}

/* "22 size=17179869184\n": the number in front counts itself. It has two digits, because a size has
 * 1 to 20. */
static void
add_pax_size(struct buffer *archive, const struct tar_head *entry)
{
  CLEANUP(freep) char *rest = xasprintf(" size=%" PRIu64 "\n", entry->size);
  size_t len = strlen(rest) + 2;
  CLEANUP(freep) char *record = xasprintf("%zu%s", len, rest);
  const struct tar_head pax = {.name = "pax", .mode = 0644, .owner = entry->owner, .size = len};
  add_header(archive, &pax, 'x');
  (void)buffer_append(archive, record, len);
  tar_head_pad(len, archive);
}

void
tar_head_add(const struct tar_head *entry, struct buffer *archive)
{
  size_t len = strlen(entry->name);
  if (entry->has_pax_size || entry->size > USTAR_SIZE_MAX)
    add_pax_size(archive, entry);
  add_header(archive, entry, len > 0 && entry->name[len - 1] == '/' ? '5' : '0');
}

void
tar_head_pad(uint64_t size, struct buffer *archive)
{
  add_zeros(archive, (size_t)(-size & (BLOCK - 1)));
}

void
tar_head_end(struct buffer *archive)
{
  add_zeros(archive, 2 * BLOCK);
}
