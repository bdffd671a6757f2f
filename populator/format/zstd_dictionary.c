/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd_dictionary.h"

#include <endian.h>
#include <string.h>

#define MAGIC 0xec30a437U
#define ID 32768U /* the first that is not reserved; frames need not name it */

static void
put(struct zstd_dictionary *dictionary, const void *bytes, size_t len)
{
  memcpy(dictionary->bytes + dictionary->len, bytes, len);
  dictionary->len += len;
}

static void
put_number(struct zstd_dictionary *dictionary, uint32_t number)
{
  number = htole32(number);
  put(dictionary, &number, sizeof(number));
}

static void
put_table(struct zstd_dictionary *dictionary, const struct zstd_tables *tables, unsigned kind)
{
  const struct zstd_table *table = &tables->of[kind];
  const unsigned char *bytes = table->bytes;
  size_t len = table->len;
  if (table->mode != ZSTD_BLOCK_DESCRIBED)
    bytes = zstd_fse_predefined(kind, &len);
  put(dictionary, bytes, len);
}

void
zstd_dictionary_make(const struct zstd_tables *tables, const uint32_t offsets[ZSTD_OFFSETS],
                     struct zstd_dictionary *ret_dictionary)
{
  static const unsigned char any_tree[] = {0x80, 0x10}; /* two symbols of a bit each */
  struct zstd_dictionary *dictionary = ret_dictionary;
  dictionary->len = 0;
  put_number(dictionary, MAGIC);
  put_number(dictionary, ID);
  if (tables->tree_len > 0)
    put(dictionary, tables->tree, tables->tree_len);
  else
    put(dictionary, any_tree, sizeof(any_tree));
  put_table(dictionary, tables, ZSTD_FSE_OFFSETS);
  put_table(dictionary, tables, ZSTD_FSE_MATCHES);
  put_table(dictionary, tables, ZSTD_FSE_LITERALS);
  for (size_t i = 0; i < ZSTD_OFFSETS; i++)
    put_number(dictionary, offsets[i]);
}
