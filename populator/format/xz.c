/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of xz is a header, blocks, an index of them and a footer. What comes when is decided
 * here, because liblzma's decoder of whole streams does not tell when a block has ended. Blocks
 * that may be long are decoded by xz_block, so that they can be saved inside; liblzma decodes the
 * others, and reads what stands around them. */
#include "populator/format/xz.h"

#include <inttypes.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/decoded_ahead.h"
#include "populator/format/decoder_memory.h"
#include "populator/format/state.h"
#include "populator/format/xz_block.h"

#define FORM 0x337a7869 /* "ixz3" */
#define IN_BYTES ((size_t)64 << 10)
/* What liblzma adds to the filters' own memory. */
#define MEMORY_BASE ((uint64_t)1 << 15)
/* Decoded ahead to the end of a block of liblzma's, in steps, before it is given up: not here. One
 * that is known to be no longer is left to liblzma. */
#define SETTLE_MAX ((size_t)8 << 20)
#define SETTLE_STEP ((size_t)128 << 10)
/* Blocks of one stream that are kept for whoever goes on. With more it cannot be saved. */
#define BLOCKS_MAX ((size_t)256 << 10)

enum phase { PHASE_STREAM_HEADER, PHASE_BLOCK_HEADER, PHASE_BLOCK, PHASE_END };

/* What the index will have to say of a block. */
struct block_size {
  uint64_t unpadded, uncompressed;
};

struct xz_stream {
  struct stream stream;
  struct decoder_memory *memory;
  lzma_allocator allocator;
  lzma_stream lzma; /* of the block; what is left of `in` */
  enum phase phase;
  uint64_t streams; /* that were read to their ends */
  lzma_stream_flags flags;
  lzma_block block;
  struct xz_block *own;   /* decodes this block, or NULL: liblzma does */
  lzma_index_hash *index; /* of the blocks so far */
  struct block_size *blocks;
  size_t block_count, block_room;
  struct decoded_ahead ahead;
  bool is_below_at_end;
  uint8_t in[IN_BYTES];
};

static struct xz_stream *
xz_of(struct stream *stream)
{
  return (struct xz_stream *)stream;
}

static int
explain(struct xz_stream *xz, lzma_ret r, struct error **err)
{
  switch (r) {
  case LZMA_BUF_ERROR:
    return error_set(err, ERROR_DATA_LOSS, "xz: the file ends too early");
  case LZMA_MEM_ERROR:
    return decoder_memory_refuse(xz->memory, "xz", err);
  case LZMA_FORMAT_ERROR:
    return error_set(err, ERROR_DATA_LOSS, "xz: what is there is no xz header");
  case LZMA_OPTIONS_ERROR:
    return error_set(err, ERROR_INVALID_ARGUMENT, "xz: the file uses something that is not known");
  case LZMA_DATA_ERROR:
    return error_set(err, ERROR_DATA_LOSS, "xz: the file is damaged");
  default:
    return error_set(err, ERROR_INTERNAL, "xz: liblzma answers %d", (int)r);
  }
}

static int
fill(struct xz_stream *xz, struct error **err)
{
  if (xz->lzma.avail_in > 0 || xz->is_below_at_end)
    return 0;
  ssize_t got = stream_read(xz->stream.below, xz->in, sizeof(xz->in), err);
  if (got < 0)
    return -1;
  xz->lzma.next_in = xz->in;
  xz->lzma.avail_in = (size_t)got;
  xz->is_below_at_end = got == 0;
  return 0;
}

static void
pass(struct xz_stream *xz, size_t len)
{
  xz->lzma.next_in += len;
  xz->lzma.avail_in -= len;
}

/* Exactly so many bytes. */
static int
take(struct xz_stream *xz, uint8_t *buf, size_t len, struct error **err)
{
  while (len > 0) {
    if (fill(xz, err) < 0)
      return -1;
    if (xz->lzma.avail_in == 0)
      return explain(xz, LZMA_BUF_ERROR, err);
    size_t n = xz->lzma.avail_in < len ? xz->lzma.avail_in : len;
    memcpy(buf, xz->lzma.next_in, n);
    pass(xz, n);
    buf += n;
    len -= n;
  }
  return 0;
}

/* ---- around the blocks --------------------------------------------------------------------------
 */

/* Begins an index without blocks. */
static int
begin_index(struct xz_stream *xz, struct error **err)
{
  lzma_index_hash *index = lzma_index_hash_init(xz->index, &xz->allocator);
  if (!index)
    return explain(xz, LZMA_MEM_ERROR, err);
  xz->index = index;
  xz->block_count = 0;
  return 0;
}

static int
read_stream_header(struct xz_stream *xz, struct error **err)
{
  uint8_t header[LZMA_STREAM_HEADER_SIZE];
  if (take(xz, header, sizeof(header), err) < 0)
    return -1;
  lzma_ret r = lzma_stream_header_decode(&xz->flags, header);
  if (r != LZMA_OK)
    return explain(xz, r, err);
  xz->phase = PHASE_BLOCK_HEADER;
  return begin_index(xz, err);
}

static int
check_memory(struct xz_stream *xz, const lzma_filter *filters, struct error **err)
{
  uint64_t needed = lzma_raw_decoder_memusage(filters);
  if (needed == UINT64_MAX)
    return explain(xz, LZMA_OPTIONS_ERROR, err);
  if (needed + MEMORY_BASE > XZ_MEMORY_MAX)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                     "xz: the file needs %ju MiB of memory to be unpacked, the limit is %ju MiB",
                     (uintmax_t)(((needed + MEMORY_BASE) >> 20) + 1),
                     (uintmax_t)(XZ_MEMORY_MAX >> 20));
  return 0;
}

static bool
may_be_long(const lzma_block *block)
{
  return block->uncompressed_size == LZMA_VLI_UNKNOWN || block->uncompressed_size > SETTLE_MAX;
}

/* One decoder or the other; not both are to hold memory. */
static lzma_ret
begin_block(struct xz_stream *xz)
{
  if (!may_be_long(&xz->block) || !xz_block_is_known(&xz->block)) {
    xz_block_free(TAKE(xz->own));
    return lzma_block_decoder(&xz->lzma, &xz->block);
  }
  lzma_end(&xz->lzma);
  if (!xz->own)
    xz->own = xz_block_new(xz->memory);
  return xz_block_begin(xz->own, &xz->block);
}

/* Its first byte, the length, is there. */
static int
read_block_header(struct xz_stream *xz, struct error **err)
{
  uint8_t header[LZMA_BLOCK_HEADER_SIZE_MAX];
  lzma_filter filters[LZMA_FILTERS_MAX + 1];
  xz->block = (lzma_block){.version = 1, .check = xz->flags.check, .filters = filters};
  xz->block.header_size = lzma_block_header_size_decode(xz->lzma.next_in[0]);
  if (take(xz, header, xz->block.header_size, err) < 0)
    return -1;
  lzma_ret r = lzma_block_header_decode(&xz->block, &xz->allocator, header);
  if (r != LZMA_OK)
    return explain(xz, r, err);
  int checked = check_memory(xz, filters, err);
  if (checked == 0)
    r = begin_block(xz);
  lzma_filters_free(filters, &xz->allocator); /* the decoder has its own */
  xz->block.filters = NULL;
  if (checked < 0)
    return -1;
  xz->phase = PHASE_BLOCK;
  return r == LZMA_OK ? 0 : explain(xz, r, err);
}

/* A block has been read to its end. */
static int
note_block(struct xz_stream *xz, const struct block_size *size, struct error **err)
{
  lzma_ret r = lzma_index_hash_append(xz->index, size->unpadded, size->uncompressed);
  if (r != LZMA_OK)
    return explain(xz, r, err);
  if (xz->block_count == xz->block_room && xz->block_room < BLOCKS_MAX) {
    xz->block_room = xz->block_room ? 2 * xz->block_room : 64;
    xz->blocks = xrealloc(xz->blocks, xz->block_room, sizeof(xz->blocks[0]));
  }
  if (xz->block_count < xz->block_room)
    xz->blocks[xz->block_count] = *size;
  xz->block_count++;
  return 0;
}

/* The index must tell of the blocks that were there. */
static int
read_index(struct xz_stream *xz, struct error **err)
{
  lzma_ret r = LZMA_OK;
  while (r == LZMA_OK) {
    size_t used = 0;
    if (fill(xz, err) < 0)
      return -1;
    if (xz->lzma.avail_in == 0)
      return explain(xz, LZMA_BUF_ERROR, err);
    r = lzma_index_hash_decode(xz->index, xz->lzma.next_in, &used, xz->lzma.avail_in);
    pass(xz, used);
  }
  return r == LZMA_STREAM_END ? 0 : explain(xz, r, err);
}

static int
read_footer(struct xz_stream *xz, struct error **err)
{
  uint8_t bytes[LZMA_STREAM_HEADER_SIZE];
  lzma_stream_flags footer;
  if (take(xz, bytes, sizeof(bytes), err) < 0)
    return -1;
  lzma_ret r = lzma_stream_footer_decode(&footer, bytes);
  if (r == LZMA_OK && footer.backward_size != lzma_index_hash_size(xz->index))
    r = LZMA_DATA_ERROR;
  if (r == LZMA_OK)
    r = lzma_stream_flags_compare(&xz->flags, &footer);
  if (r != LZMA_OK)
    return explain(xz, r == LZMA_FORMAT_ERROR ? LZMA_DATA_ERROR : r, err);
  xz->streams++;
  return 0;
}

/* Zeros, four at a time, up to the next stream or the end of the file. */
static int
skip_padding(struct xz_stream *xz, struct error **err)
{
  for (unsigned zeros = 0;; zeros = (zeros + 1) % 4) {
    if (fill(xz, err) < 0)
      return -1;
    bool is_end = xz->lzma.avail_in == 0;
    if (!is_end && xz->lzma.next_in[0] == 0) {
      pass(xz, 1);
      continue;
    }
    xz->phase = is_end ? PHASE_END : PHASE_STREAM_HEADER;
    return zeros == 0 ? 0 : explain(xz, LZMA_DATA_ERROR, err);
  }
}

/* A block, or the end of the stream. */
static int
read_next_header(struct xz_stream *xz, struct error **err)
{
  if (fill(xz, err) < 0)
    return -1;
  if (xz->lzma.avail_in == 0)
    return explain(xz, LZMA_BUF_ERROR, err);
  if (xz->lzma.next_in[0] != 0)
    return read_block_header(xz, err);
  if (read_index(xz, err) < 0 || read_footer(xz, err) < 0)
    return -1;
  return skip_padding(xz, err);
}

/* ---- data --------------------------------------------------------------------------------------
 */

/* lzma_code() by our own decoder. */
static lzma_ret
run_own(struct xz_stream *xz)
{
  lzma_stream *lzma = &xz->lzma;
  struct lzma2_io io = {lzma->next_in, lzma->avail_in, lzma->next_out, lzma->avail_out};
  lzma_ret r = xz_block_run(xz->own, &io);
  bool is_stuck = io.in_len == lzma->avail_in && io.out_len == lzma->avail_out;
  lzma->next_in = io.in;
  lzma->avail_in = io.in_len;
  lzma->next_out = io.out;
  lzma->avail_out = io.out_len;
  return r == LZMA_OK && is_stuck && xz->is_below_at_end ? LZMA_BUF_ERROR : r;
}

/* Some of the block, up to what there is room for. */
static int
decode_block(struct xz_stream *xz, struct error **err)
{
  if (fill(xz, err) < 0)
    return -1;
  lzma_ret r = xz->own ? run_own(xz) : lzma_code(&xz->lzma, LZMA_RUN);
  if (r == LZMA_OK)
    return 0;
  if (r != LZMA_STREAM_END)
    return explain(xz, r, err);
  struct block_size size = {lzma_block_unpadded_size(&xz->block), xz->block.uncompressed_size};
  if (xz->own)
    size =
        (struct block_size){xz_block_unpadded_size(xz->own), xz_block_uncompressed_size(xz->own)};
  xz->phase = PHASE_BLOCK_HEADER;
  return note_block(xz, &size, err);
}

/* Where it can be saved: between blocks, and between the chunks of those that we decode. */
static bool
is_settled(const struct xz_stream *xz)
{
  return xz->phase != PHASE_BLOCK || (xz->own && xz_block_is_settled(xz->own));
}

/* Fills buf; less at the end of the file, or, if it is to settle, where it can be saved. */
static ssize_t
decode(struct xz_stream *xz, void *buf, size_t len, bool is_to_settle, struct error **err)
{
  xz->lzma.next_out = buf;
  xz->lzma.avail_out = len;
  while (xz->phase != PHASE_END && xz->lzma.avail_out > 0) {
    if (is_to_settle && is_settled(xz))
      break;
    int r = xz->phase == PHASE_BLOCK           ? decode_block(xz, err)
            : xz->phase == PHASE_STREAM_HEADER ? read_stream_header(xz, err)
                                               : read_next_header(xz, err);
    if (r < 0)
      return -1;
  }
  return (ssize_t)(len - xz->lzma.avail_out);
}

static ssize_t
xz_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct xz_stream *xz = xz_of(stream);
  size_t got = decoded_ahead_read(&xz->ahead, buf, len);
  return got > 0 ? (ssize_t)got : decode(xz, buf, len, false, err);
}

static void
xz_close(struct stream *stream)
{
  struct xz_stream *xz = xz_of(stream);
  stream_close(xz->stream.below);
  lzma_end(&xz->lzma);
  xz_block_free(xz->own);
  lzma_index_hash_end(xz->index, &xz->allocator);
  decoder_memory_leave(xz->memory);
  decoded_ahead_clear(&xz->ahead);
  free(xz->blocks);
  free(xz);
}

static struct decoder_memory *
xz_memory(struct stream *stream)
{
  return xz_of(stream)->memory;
}

/* ---- saving and restoring ----------------------------------------------------------------------
 */

/* Decodes ahead to the end of a chunk, or of a block of liblzma's: between two of them that knows
 * nothing. */
static int
settle(struct xz_stream *xz, struct error **err)
{
  CLEANUP(freep) char *step = is_settled(xz) ? NULL : xcalloc(1, SETTLE_STEP);
  while (!is_settled(xz)) {
    if (!xz->own && decoded_ahead_left(&xz->ahead) > SETTLE_MAX)
      return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                       "xz: cannot be saved here, in the middle of a long block");
    ssize_t got = decode(xz, step, SETTLE_STEP, true, err);
    if (got < 0)
      return -1;
    decoded_ahead_add(&xz->ahead, step, (size_t)got);
  }
  if (xz->block_count > BLOCKS_MAX)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "xz: cannot be saved, with so many blocks");
  return 0;
}

static int
xz_save(struct stream *stream, struct buffer *state, struct error **err)
{
  struct xz_stream *xz = xz_of(stream);
  if (settle(xz, err) < 0)
    return -1;
  CLEANUP(state_sealer_freep) struct state_sealer *sealer = state_sealer_new(FORM, state);
  CLEANUP(buffer_clear) struct buffer body = {0};
  state_put_number(&body, xz->phase);
  state_put_number(&body, xz->flags.check);
  state_put_number(&body, xz->is_below_at_end);
  state_put_number(&body, xz->block_count);
  for (size_t i = 0; i < xz->block_count; i++) {
    state_put_number(&body, xz->blocks[i].unpadded);
    state_put_number(&body, xz->blocks[i].uncompressed);
  }
  state_put_bytes(&body, xz->lzma.avail_in ? (const char *)xz->lzma.next_in : "",
                  xz->lzma.avail_in);
  decoded_ahead_save(&xz->ahead, &body);
  state_sealer_add(sealer, body.data, body.len);
  if (xz->phase == PHASE_BLOCK)
    xz_block_save(xz->own, sealer);
  return state_sealer_finish(sealer, err);
}

static uint64_t
xz_count(struct stream *stream)
{
  return xz_of(stream)->streams;
}

static const struct stream_ops xz_ops = {
    .name = "xz",
    .read = xz_read,
    .save = xz_save,
    .close = xz_close,
    .count = xz_count,
    .memory = xz_memory,
};

static void *
allocate(void *memory, size_t count, size_t size)
{
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? NULL : decoder_memory_take(memory, bytes);
}

static void
give(void *memory, void *taken)
{
  decoder_memory_give(memory, taken);
}

int
xz_stream_new(struct stream *below, struct stream **ret_stream, struct error **err)
{
  (void)err;
  struct xz_stream *xz = xcalloc(1, sizeof(*xz));
  xz->stream = (struct stream){.ops = &xz_ops, .below = below};
  xz->memory = decoder_memory_join(below);
  xz->allocator = (lzma_allocator){.alloc = allocate, .free = give, .opaque = xz->memory};
  xz->lzma.allocator = &xz->allocator;
  *ret_stream = &xz->stream;
  return 0;
}

/* What the index was made of. */
static int
restore_blocks(struct xz_stream *xz, struct state_reader *reader, struct error **err)
{
  uint64_t count = state_get_number_up_to(reader, BLOCKS_MAX);
  if (begin_index(xz, err) < 0)
    return -1;
  for (uint64_t i = 0; i < count && !reader->failed; i++) {
    struct block_size size = {.unpadded = state_get_number(reader)};
    size.uncompressed = state_get_number(reader);
    if (!reader->failed && note_block(xz, &size, err) < 0)
      return -1;
  }
  return 0;
}

static int
restore_block(struct xz_stream *xz, struct state_reader *reader, struct error **err)
{
  if (xz->phase != PHASE_BLOCK || reader->failed)
    return 0;
  xz->own = xz_block_new(xz->memory);
  lzma_ret r = xz_block_restore(xz->own, xz->flags.check, reader);
  if (r == LZMA_MEM_ERROR)
    return explain(xz, r, err);
  reader->failed = r != LZMA_OK;
  return 0;
}

static int
restore(struct xz_stream *xz, struct state_reader *reader, struct error **err)
{
  size_t in_len = 0, ahead_len = 0;
  xz->phase = (enum phase)state_get_number_up_to(reader, PHASE_END);
  xz->flags.backward_size = LZMA_VLI_UNKNOWN; /* as a header leaves it */
  xz->flags.check = (lzma_check)state_get_number_up_to(reader, LZMA_CHECK_ID_MAX);
  xz->is_below_at_end = state_get_number_up_to(reader, 1) != 0;
  if (restore_blocks(xz, reader, err) < 0)
    return -1;
  const void *in = state_get_bytes(reader, sizeof(xz->in), &in_len);
  const void *ahead = state_get_bytes(reader, SIZE_MAX, &ahead_len);
  if (restore_block(xz, reader, err) < 0)
    return -1;
  if (reader->failed || reader->left > 0)
    return error_set(err, ERROR_DATA_LOSS, "xz: saved state: damaged");
  memcpy(xz->in, in, in_len);
  xz->lzma.next_in = xz->in;
  xz->lzma.avail_in = in_len;
  decoded_ahead_add(&xz->ahead, ahead, ahead_len);
  return 0;
}

int
xz_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                  struct stream **ret_stream, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CLEANUP(buffer_clear) struct buffer body = {0};
  size_t used;
  if (xz_stream_new(below, &stream, err) < 0)
    return -1;
  size_t max_len = 2 * SETTLE_MAX + 20 * BLOCKS_MAX + XZ_MEMORY_MAX;
  if (state_unseal(FORM, state, len, max_len, &body, &used, err) < 0)
    return error_wrap(err, "xz");
  struct state_reader reader = {.at = (const unsigned char *)body.data, .left = body.len};
  if (restore(xz_of(stream), &reader, err) < 0)
    return -1;
  *ret_used = used;
  *ret_stream = TAKE(stream);
  return 0;
}
