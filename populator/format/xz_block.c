/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/xz_block.h"

#include <stdlib.h>

#include "lib/base/memory.h"
#include "populator/format/xz.h"
#include "populator/format/xz_chain.h"
#include "populator/format/xz_check.h"

enum phase { PHASE_DATA, PHASE_PADDING, PHASE_CHECK, PHASE_END, PHASE_DAMAGED };

struct xz_block {
  struct lzma2 *lzma2;
  struct xz_chain *chain; /* what lies between it and the reader; NULL: nothing */
  enum phase phase;
  uint32_t dict_size;
  uint32_t header_size;
  /* What the header says, or LZMA_VLI_UNKNOWN. */
  uint64_t compressed_size, uncompressed_size;
  /* How much it was so far. */
  uint64_t compressed, uncompressed;
  struct xz_check check; /* of what was uncompressed */
  uint32_t padding;      /* bytes of it so far, and of what the file has for a check */
  uint32_t check_have;
  uint8_t check_bytes[LZMA_CHECK_SIZE_MAX];
};

struct xz_block *
xz_block_new(struct decoder_memory *memory)
{
  struct xz_block *block = xcalloc(1, sizeof(*block));
  block->lzma2 = lzma2_new(memory);
  return block;
}

void
xz_block_free(struct xz_block *block)
{
  if (!block)
    return;
  lzma2_free(block->lzma2);
  xz_chain_free(block->chain);
  free(block);
}

static uint32_t
dict_size_of(const lzma_filter *filters)
{
  return ((const lzma_options_lzma *)xz_chain_last(filters)->options)->dict_size;
}

bool
xz_block_is_known(const lzma_block *header)
{
  return xz_chain_is_known(header->filters) && lzma2_can_have(dict_size_of(header->filters)) &&
         xz_check_is_known(header->check);
}

lzma_ret
xz_block_begin(struct xz_block *block, const lzma_block *header)
{
  struct lzma2 *lzma2 = block->lzma2;
  xz_chain_free(block->chain);
  *block = (struct xz_block){.lzma2 = lzma2,
                             .chain = xz_chain_new(header->filters),
                             .dict_size = dict_size_of(header->filters),
                             .header_size = header->header_size,
                             .compressed_size = header->compressed_size,
                             .uncompressed_size = header->uncompressed_size};
  xz_check_begin(&block->check, header->check);
  return lzma2_begin(lzma2, block->dict_size) ? LZMA_OK : LZMA_MEM_ERROR;
}

/* ---- data --------------------------------------------------------------------------------------
 */

static bool
is_too_much(uint64_t size, uint64_t said)
{
  return said != LZMA_VLI_UNKNOWN && size > said;
}

static bool
is_as_said(uint64_t size, uint64_t said)
{
  return said == LZMA_VLI_UNKNOWN || size == said;
}

static bool
is_all_read(const struct xz_block *block)
{
  return !block->chain || xz_chain_is_read(block->chain);
}

static void
read_chain(struct xz_block *block, struct lzma2_io *io)
{
  size_t n = xz_chain_read(block->chain, io->out, io->out_len);
  io->out += n;
  io->out_len -= n;
}

/* As lzma2_run(), and what comes out is not filtered any more. */
static bool
run_filtered(struct xz_block *block, struct lzma2_io *io)
{
  if (!xz_chain_is_read(block->chain)) {
    read_chain(block, io); /* and no more: perhaps it can be saved behind that */
    return true;
  }
  struct lzma2_io inner = {.in = io->in, .in_len = io->in_len};
  inner.out = xz_chain_room(block->chain, &inner.out_len);
  const uint8_t *out = inner.out;
  if (!lzma2_run(block->lzma2, &inner))
    return false;
  io->in = inner.in;
  io->in_len = inner.in_len;
  xz_chain_add(block->chain, (size_t)(inner.out - out), lzma2_is_done(block->lzma2));
  read_chain(block, io);
  return true;
}

static lzma_ret
run_data(struct xz_block *block, struct lzma2_io *io)
{
  const uint8_t *out = io->out;
  size_t in_len = io->in_len;
  if (block->chain ? !run_filtered(block, io) : !lzma2_run(block->lzma2, io))
    return LZMA_DATA_ERROR;
  block->compressed += in_len - io->in_len;
  size_t made = (size_t)(io->out - out);
  block->uncompressed += made;
  xz_check_update(&block->check, out, made);
  if (is_too_much(block->compressed, block->compressed_size) ||
      is_too_much(block->uncompressed, block->uncompressed_size))
    return LZMA_DATA_ERROR;
  if (!lzma2_is_done(block->lzma2) || !is_all_read(block))
    return LZMA_OK;
  block->phase = PHASE_PADDING;
  return is_as_said(block->compressed, block->compressed_size) &&
                 is_as_said(block->uncompressed, block->uncompressed_size)
             ? LZMA_OK
             : LZMA_DATA_ERROR;
}

/* Zeros up to a multiple of four. They do not count as compressed data. */
static lzma_ret
run_padding(struct xz_block *block, struct lzma2_io *io)
{
  for (; (block->compressed + block->padding) % 4 != 0; block->padding++) {
    if (io->in_len == 0)
      return LZMA_OK;
    io->in_len--;
    if (*io->in++ != 0)
      return LZMA_DATA_ERROR;
  }
  block->phase = PHASE_CHECK;
  return LZMA_OK;
}

static lzma_ret
run_check(struct xz_block *block, struct lzma2_io *io)
{
  uint32_t size = lzma_check_size(block->check.kind);
  for (; block->check_have < size; block->check_have++) {
    if (io->in_len == 0)
      return LZMA_OK;
    io->in_len--;
    block->check_bytes[block->check_have] = *io->in++;
  }
  block->phase = PHASE_END;
  return xz_check_is(&block->check, block->check_bytes) ? LZMA_STREAM_END : LZMA_DATA_ERROR;
}

lzma_ret
xz_block_run(struct xz_block *block, struct lzma2_io *io)
{
  lzma_ret r = block->phase == PHASE_DAMAGED ? LZMA_DATA_ERROR : LZMA_OK;
  if (block->phase == PHASE_DATA)
    r = run_data(block, io);
  if (r == LZMA_OK && block->phase == PHASE_PADDING)
    r = run_padding(block, io);
  if (r == LZMA_OK && block->phase == PHASE_CHECK)
    r = run_check(block, io);
  if (r == LZMA_DATA_ERROR)
    block->phase = PHASE_DAMAGED;
  return r;
}

uint64_t
xz_block_unpadded_size(const struct xz_block *block)
{
  return block->header_size + block->compressed + lzma_check_size(block->check.kind);
}

uint64_t
xz_block_uncompressed_size(const struct xz_block *block)
{
  return block->uncompressed;
}

/* ---- saving ------------------------------------------------------------------------------------
 */

bool
xz_block_is_settled(const struct xz_block *block)
{
  return block->phase == PHASE_DATA && lzma2_is_settled(block->lzma2) && is_all_read(block);
}

void
xz_block_save(const struct xz_block *block, struct state_sealer *sealer)
{
  CLEANUP(buffer_clear) struct buffer body = {0};
  state_put_number(&body, block->dict_size);
  state_put_number(&body, block->header_size);
  state_put_number(&body, block->compressed_size);
  state_put_number(&body, block->uncompressed_size);
  state_put_number(&body, block->compressed);
  state_put_number(&body, block->uncompressed);
  xz_check_save(&block->check, &body);
  xz_chain_save(block->chain, &body);
  state_sealer_add(sealer, body.data, body.len);
  lzma2_save(block->lzma2, sealer);
}

lzma_ret
xz_block_restore(struct xz_block *block, lzma_check check, struct state_reader *reader)
{
  block->phase = PHASE_DATA;
  block->dict_size = (uint32_t)state_get_number_up_to(reader, XZ_MEMORY_MAX);
  block->header_size = (uint32_t)state_get_number_up_to(reader, LZMA_BLOCK_HEADER_SIZE_MAX);
  block->compressed_size = state_get_number(reader);
  block->uncompressed_size = state_get_number(reader);
  block->compressed = state_get_number_up_to(reader, LZMA_VLI_MAX);
  block->uncompressed = state_get_number_up_to(reader, LZMA_VLI_MAX);
  if (!xz_check_is_known(check))
    return LZMA_DATA_ERROR;
  xz_check_begin(&block->check, check);
  xz_check_restore(&block->check, reader);
  block->chain = xz_chain_restore(reader);
  if (reader->failed || !lzma2_can_have(block->dict_size))
    return LZMA_DATA_ERROR;
  if (!lzma2_begin(block->lzma2, block->dict_size))
    return LZMA_MEM_ERROR;
  lzma2_restore(block->lzma2, reader);
  return reader->failed ? LZMA_DATA_ERROR : LZMA_OK;
}
