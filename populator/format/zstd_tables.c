/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd_tables.h"

#include <assert.h>
#include <string.h>

void
zstd_tables_init(struct zstd_tables *tables)
{
  *tables = (struct zstd_tables){0};
}

bool
zstd_tables_suffice(const struct zstd_tables *tables, const struct zstd_block *block)
{
  if (block->repeats_tree && tables->tree_len == 0)
    return false;
  for (unsigned kind = 0; kind < ZSTD_FSE_KINDS; kind++) {
    if (block->tables[kind].mode == ZSTD_BLOCK_REPEATED && !tables->has_sequences)
      return false;
  }
  return true;
}

static bool
is_to_be_told(const struct zstd_tables *tables, const struct zstd_block *block, unsigned kind)
{
  return block->tables[kind].mode == ZSTD_BLOCK_REPEATED && tables->of[kind].is_untold;
}

bool
zstd_tables_amend(const struct zstd_tables *tables, const struct zstd_block *block,
                  const unsigned char *bytes, struct buffer *out)
{
  unsigned char modes = 0;
  bool is_amended = false;
  out->len = 0;
  if (!block->has_tables)
    return false;
  for (unsigned kind = 0; kind < ZSTD_FSE_KINDS; kind++) {
    bool is_told = is_to_be_told(tables, block, kind);
    unsigned mode = is_told ? ZSTD_BLOCK_SINGLE : block->tables[kind].mode;
    modes |= (unsigned char)(mode << (6 - 2 * kind));
    is_amended = is_amended || is_told;
  }
  if (!is_amended)
    return false;
  modes |= *block->modes & 3;
  (void)buffer_append(out, bytes, (size_t)(block->modes - bytes));
  (void)buffer_append(out, &modes, 1);
  for (unsigned kind = 0; kind < ZSTD_FSE_KINDS; kind++) {
    if (is_to_be_told(tables, block, kind))
      (void)buffer_append(out, tables->of[kind].bytes, 1);
    else
      (void)buffer_append(out, block->tables[kind].bytes, block->tables[kind].len);
  }
  (void)buffer_append(out, block->bits, block->bits_len);
  return true;
}

void
zstd_tables_follow(struct zstd_tables *tables, const struct zstd_block *block)
{
  if (block->tree_len > 0) {
    memcpy(tables->tree, block->tree, block->tree_len);
    tables->tree_len = block->tree_len;
  }
  for (unsigned kind = 0; block->has_tables && kind < ZSTD_FSE_KINDS; kind++) {
    const struct zstd_block_table *brought = &block->tables[kind];
    struct zstd_table *table = &tables->of[kind];
    table->is_untold = false;
    if (brought->mode == ZSTD_BLOCK_REPEATED)
      continue;
    table->mode = brought->mode;
    table->len = brought->len;
    memcpy(table->bytes, brought->bytes, brought->len);
  }
  tables->has_sequences = tables->has_sequences || block->sequences > 0;
}

void
zstd_table_build(const struct zstd_table *table, unsigned kind, struct zstd_fse *ret_table)
{
  struct zstd_fse_counts counts = {0};
  const unsigned char *bytes = table->bytes;
  size_t len = table->len;
  if (table->mode == ZSTD_BLOCK_SINGLE) {
    zstd_fse_build_single(bytes[0], ret_table);
    return;
  }
  if (table->mode == ZSTD_BLOCK_PREDEFINED)
    bytes = zstd_fse_predefined(kind, &len);
  size_t used = zstd_fse_read(kind, bytes, len, &counts);
  assert(used > 0); /* no table is kept that could not be read */
  (void)used;
  zstd_fse_build(&counts, ret_table);
}

/* ---- saving ------------------------------------------------------------------------------------
 */

void
zstd_tables_save(const struct zstd_tables *tables, struct buffer *body)
{
  state_put_bytes(body, tables->tree, tables->tree_len);
  state_put_number(body, tables->has_sequences);
  for (unsigned kind = 0; kind < ZSTD_FSE_KINDS; kind++) {
    state_put_number(body, tables->of[kind].mode);
    state_put_bytes(body, tables->of[kind].bytes, tables->of[kind].len);
  }
}

/* Whether the bytes are what a block could have brought. */
static bool
is_table(const struct zstd_table *table, unsigned kind)
{
  struct zstd_fse_counts counts;
  switch (table->mode) {
  case ZSTD_BLOCK_PREDEFINED:
    return table->len == 0;
  case ZSTD_BLOCK_SINGLE:
    return table->len == 1 && table->bytes[0] <= zstd_fse_symbol_max(kind);
  case ZSTD_BLOCK_DESCRIBED:
    return table->len > 0 && zstd_fse_read(kind, table->bytes, table->len, &counts) == table->len;
  default:
    return false;
  }
}

void
zstd_tables_restore(struct zstd_tables *tables, struct state_reader *reader)
{
  zstd_tables_init(tables);
  const void *bytes = state_get_bytes(reader, sizeof(tables->tree), &tables->tree_len);
  if (bytes)
    memcpy(tables->tree, bytes, tables->tree_len);
  tables->has_sequences = state_get_number_up_to(reader, 1) != 0;
  for (unsigned kind = 0; kind < ZSTD_FSE_KINDS; kind++) {
    struct zstd_table *table = &tables->of[kind];
    table->mode = (enum zstd_block_mode)state_get_number_up_to(reader, ZSTD_BLOCK_DESCRIBED);
    bytes = state_get_bytes(reader, sizeof(table->bytes), &table->len);
    if (bytes)
      memcpy(table->bytes, bytes, table->len);
    table->is_untold = table->mode == ZSTD_BLOCK_SINGLE;
    if (!is_table(table, kind))
      reader->failed = true;
  }
}
