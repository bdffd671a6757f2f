/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/sink/disk_layer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define BLOCK ((size_t)512)
#define FOLDER "disk/"
#define NAME_MAX_LEN 64
/* What eleven octal digits hold. A larger size stands in a pax header of its own. */
#define USTAR_SIZE_MAX ((uint64_t)077777777777)

int
disk_layer_check_name(const char *name, struct error **err)
{
  if (!text_is_plain_name(name, NAME_MAX_LEN))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%.80s' cannot name the disk in an image: at most %d letters, digits, '.', "
                     "'_', '-'",
                     name, NAME_MAX_LEN);
  return 0;
}

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
add_header(struct buffer *archive, const char *name, char type, unsigned mode, uint64_t size)
{
  char block[BLOCK] = {0};
  unsigned sum = 0;
  (void)snprintf(block, 100, "%s", name);
  put_octal(block + 100, 8, mode);
  put_octal(block + 108, 8, DISK_LAYER_OWNER);
  put_octal(block + 116, 8, DISK_LAYER_OWNER);
  put_octal(block + 124, 12, size <= USTAR_SIZE_MAX ? size : 0);
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

/* "22 size=17179869184\n": the number in front counts itself. */
static void
add_pax_size(struct buffer *archive, uint64_t size)
{
  CLEANUP(freep) char *rest = xasprintf(" size=%" PRIu64 "\n", size);
  size_t len = strlen(rest) + 2; /* two digits: a size above 8 GiB has 10 to 20 of its own */
  CLEANUP(freep) char *record = xasprintf("%zu%s", len, rest);
  add_header(archive, "pax", 'x', 0644, len);
  (void)buffer_append(archive, record, len);
  add_zeros(archive, -len & (BLOCK - 1));
}

void
disk_layer_head(const char *name, uint64_t size, struct buffer *head)
{
  CLEANUP(freep) char *path = xasprintf(FOLDER "%s", name);
  add_header(head, FOLDER, '5', 0555, 0);
  if (size > USTAR_SIZE_MAX)
    add_pax_size(head, size);
  add_header(head, path, '0', 0440, size);
}

void
disk_layer_tail(uint64_t size, struct buffer *tail)
{
  add_zeros(tail, (size_t)(-size & (BLOCK - 1)));
  add_zeros(tail, 2 * BLOCK);
}
