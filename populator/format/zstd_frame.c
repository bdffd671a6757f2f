/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd_frame.h"

#define ZSTD_STATIC_LINKING_ONLY /* memory of our own, block by block */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"
#include "populator/format/xxh64.h"
#include "populator/format/zstd.h"
#include "populator/format/zstd_window.h"

#define WINDOW_MIN ((uint64_t)1 << 10)
/* The type of a block. */
enum { BLOCK_RAW, BLOCK_RLE, BLOCK_COMPRESSED, BLOCK_RESERVED };

struct zstd_frame {
  struct decoder_memory *memory;
  ZSTD_DCtx *context;
  struct zstd_frame_facts facts;
  uint64_t decoded; /* of the content */
  struct xxh64 hash;
  struct zstd_tables tables;
  struct zstd_offsets *offsets;
  struct zstd_window window;
  bool is_lost;          /* a block was not understood: what it said is not known */
  struct buffer amended; /* the block that libzstd is given in place of another */
};

static const uint32_t initial_offsets[ZSTD_OFFSETS] = {1, 4, 8};

/* ---- libzstd -----------------------------------------------------------------------------------
 */

static void *
take(void *memory, size_t size)
{
  return decoder_memory_take(memory, size);
}

static void
give(void *memory, void *taken)
{
  decoder_memory_give(memory, taken);
}

static ZSTD_DCtx *
context_new(struct decoder_memory *memory)
{
  return ZSTD_createDCtx_advanced((ZSTD_customMem){take, give, memory});
}

static void
context_free(ZSTD_DCtx **context)
{
  (void)ZSTD_freeDCtx(*context);
}

static int
damaged(ZSTD_ErrorCode code, struct error **err)
{
  return error_set(err, ERROR_DATA_LOSS, "zstd: the file is damaged: %s",
                   ZSTD_getErrorString(code));
}

int
zstd_frame_explain(const struct decoder_memory *memory, ZSTD_ErrorCode code, struct error **err)
{
  switch (code) {
  case ZSTD_error_frameParameter_windowTooLarge:
    return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                     "zstd: the file needs a window of more than %u MiB, which is the limit",
                     1U << (ZSTD_STREAM_WINDOW_LOG_MAX - 20));
  case ZSTD_error_memory_allocation:
    return decoder_memory_refuse(memory, "zstd", err);
  case ZSTD_error_prefix_unknown:
    return error_set(err, ERROR_DATA_LOSS, "zstd: what is there is no zstd frame");
  case ZSTD_error_dictionary_wrong:
    return error_set(err, ERROR_INVALID_ARGUMENT, "zstd: the file needs a dictionary");
  default:
    return damaged(code, err);
  }
}

struct zstd_frame *
zstd_frame_new(struct decoder_memory *memory)
{
  struct zstd_frame *frame = xcalloc(1, sizeof(*frame));
  frame->memory = memory;
  zstd_window_init(&frame->window, memory);
  frame->offsets = zstd_offsets_new();
  frame->context = context_new(memory);
  if (frame->context)
    return frame;
  zstd_frame_free(frame);
  return NULL;
}

void
zstd_frame_free(struct zstd_frame *frame)
{
  if (!frame)
    return;
  (void)ZSTD_freeDCtx(frame->context);
  zstd_window_clear(&frame->window);
  zstd_offsets_free(frame->offsets);
  buffer_clear(&frame->amended);
  free(frame);
}

/* ---- the beginning -----------------------------------------------------------------------------
 */

/* Large enough for a window to be as libzstd wants it. */
static uint64_t
window_bytes(const struct zstd_frame *frame)
{
  return frame->facts.window_bytes < WINDOW_MIN ? WINDOW_MIN : frame->facts.window_bytes;
}

static size_t
block_max(const struct zstd_frame *frame)
{
  return frame->facts.window_bytes < ZSTD_FRAME_BLOCK_MAX ? (size_t)frame->facts.window_bytes
                                                          : ZSTD_FRAME_BLOCK_MAX;
}

/* The smallest window that can be said in a byte and is no smaller: five bits are its power of two
 * above 1 KiB, three are eighths. */
static unsigned char
window_descriptor(uint64_t bytes)
{
  unsigned char descriptor = 0;
  while ((WINDOW_MIN << (descriptor >> 3)) / 8 * (8 + (descriptor & 7)) < bytes)
    descriptor++;
  return descriptor;
}

/* The header that says no more than how large the window is; libzstd wants it in two parts. */
static size_t
begin_context(struct zstd_frame *frame, const void *dictionary, size_t len)
{
  const unsigned char header[] = {0x28, 0xb5, 0x2f,
                                  0xfd, 0,    window_descriptor(window_bytes(frame))};
  size_t r = dictionary ? ZSTD_decompressBegin_usingDict(frame->context, dictionary, len)
                        : ZSTD_decompressBegin(frame->context);
  for (size_t at = 0; !ZSTD_isError(r) && at < sizeof(header);) {
    size_t part = ZSTD_nextSrcSizeToDecompress(frame->context);
    if (part > sizeof(header) - at)
      return (size_t)0 - ZSTD_error_GENERIC;
    r = ZSTD_decompressContinue(frame->context, NULL, 0, header + at, part);
    at += part;
  }
  return r;
}

int
zstd_frame_begin(struct zstd_frame *frame, const struct zstd_frame_facts *facts, struct error **err)
{
  if (facts->window_bytes > (uint64_t)1 << ZSTD_STREAM_WINDOW_LOG_MAX)
    return zstd_frame_explain(frame->memory, ZSTD_error_frameParameter_windowTooLarge, err);
  frame->facts = *facts;
  frame->decoded = 0;
  frame->is_lost = false;
  xxh64_init(&frame->hash);
  zstd_tables_init(&frame->tables);
  zstd_offsets_set(frame->offsets, initial_offsets);
  if (!zstd_window_begin(&frame->window, window_bytes(frame), facts->content_bytes))
    return decoder_memory_refuse(frame->memory, "zstd", err);
  size_t r = begin_context(frame, NULL, 0);
  return ZSTD_isError(r) ? zstd_frame_explain(frame->memory, ZSTD_getErrorCode(r), err) : 0;
}

/* ---- blocks ------------------------------------------------------------------------------------
 */

struct block_header {
  bool is_last;
  unsigned type;
  size_t size;
};

static struct block_header
read_block_header(const unsigned char *bytes)
{
  unsigned header = bytes_le16(bytes) | (unsigned)bytes[2] << 16;
  return (struct block_header){
      .is_last = (header & 1) != 0, .type = header >> 1 & 3, .size = header >> 3};
}

int
zstd_frame_block_len(const struct zstd_frame *frame,
                     const unsigned char header[ZSTD_FRAME_BLOCK_HEADER], size_t *ret_len,
                     bool *ret_is_last, struct error **err)
{
  struct block_header block = read_block_header(header);
  if (block.type == BLOCK_RESERVED || block.size > block_max(frame))
    return damaged(ZSTD_error_corruption_detected, err);
  *ret_len = block.type == BLOCK_RLE ? 1 : block.size;
  *ret_is_last = block.is_last;
  return 0;
}

/* Hands a block to libzstd; what comes out is in the window. */
static int
run(struct zstd_frame *frame, const unsigned char *header, const unsigned char *block, size_t len,
    struct error **err)
{
  size_t room;
  char *out = zstd_window_room(&frame->window, block_max(frame), &room);
  size_t r = ZSTD_decompressContinue(frame->context, out, room, header, ZSTD_FRAME_BLOCK_HEADER);
  /* an empty block is over with its header */
  if (!ZSTD_isError(r) && len > 0)
    r = ZSTD_decompressContinue(frame->context, out, room, block, len);
  if (ZSTD_isError(r))
    return zstd_frame_explain(frame->memory, ZSTD_getErrorCode(r), err);
  if (r > block_max(frame))
    return damaged(ZSTD_error_corruption_detected, err);
  zstd_window_add(&frame->window, r);
  frame->decoded += r;
  if (frame->facts.has_checksum)
    xxh64_add(&frame->hash, out, r);
  return 0;
}

/* One that brings or uses tables. */
static int
run_compressed(struct zstd_frame *frame, const unsigned char *header, const unsigned char *bytes,
               size_t len, struct error **err)
{
  struct zstd_block block;
  bool is_known = zstd_block_parse(bytes, len, &block);
  frame->is_lost = frame->is_lost || !is_known;
  if (!is_known || !zstd_tables_amend(&frame->tables, &block, bytes, &frame->amended)) {
    if (run(frame, header, bytes, len, err) < 0)
      return -1;
  } else {
    unsigned added = (unsigned)(frame->amended.len - len) << 3;
    unsigned word = (bytes_le16(header) | (unsigned)header[2] << 16) + added;
    const unsigned char longer[] = {word & 0xff, word >> 8 & 0xff, word >> 16 & 0xff};
    if (run(frame, longer, (unsigned char *)frame->amended.data, frame->amended.len, err) < 0)
      return -1;
  }
  if (!is_known)
    return 0;
  /* with a dictionary libzstd has tables even where the frame had none */
  if (!zstd_tables_suffice(&frame->tables, &block))
    return damaged(ZSTD_error_corruption_detected, err);
  zstd_tables_follow(&frame->tables, &block);
  zstd_offsets_follow(frame->offsets, &block, &frame->tables);
  return 0;
}

int
zstd_frame_decode(struct zstd_frame *frame, const unsigned char *block, size_t len,
                  struct error **err)
{
  struct block_header header = read_block_header(block);
  const unsigned char *bytes = block + ZSTD_FRAME_BLOCK_HEADER;
  len -= ZSTD_FRAME_BLOCK_HEADER;
  int r = header.type == BLOCK_COMPRESSED && len > 0 ? run_compressed(frame, block, bytes, len, err)
                                                     : run(frame, block, bytes, len, err);
  if (r < 0)
    return -1;
  uint64_t content = frame->facts.content_bytes;
  if (content != UINT64_MAX &&
      (header.is_last ? frame->decoded != content : frame->decoded > content))
    return damaged(ZSTD_error_corruption_detected, err);
  return 0;
}

size_t
zstd_frame_read(struct zstd_frame *frame, void *buf, size_t len)
{
  return zstd_window_read(&frame->window, buf, len);
}

bool
zstd_frame_has_checksum(const struct zstd_frame *frame)
{
  return frame->facts.has_checksum;
}

int
zstd_frame_verify(const struct zstd_frame *frame, const unsigned char checksum[ZSTD_FRAME_CHECKSUM],
                  struct error **err)
{
  if (bytes_le32(checksum) != (uint32_t)xxh64_value(&frame->hash))
    return damaged(ZSTD_error_checksum_wrong, err);
  return 0;
}

/* ---- saving ------------------------------------------------------------------------------------
 */

/* Before its first block a decoder knows nothing. */
static bool
is_at_beginning(const struct zstd_frame *frame)
{
  return frame->decoded == 0 && frame->tables.tree_len == 0 && !frame->tables.has_sequences;
}

/* How much of the content matches may refer to. */
static uint64_t
history_bytes(const struct zstd_frame *frame)
{
  uint64_t window = window_bytes(frame);
  return frame->decoded < window ? frame->decoded : window;
}

static bool
are_within(const uint32_t offsets[ZSTD_OFFSETS], uint64_t history)
{
  for (size_t i = 0; i < ZSTD_OFFSETS; i++) {
    if (offsets[i] == 0 || offsets[i] > history)
      return false;
  }
  return true;
}

/* Whether libzstd takes a dictionary with such tables: it has rules of its own for them. */
static bool
are_tables_taken(const struct zstd_frame *frame)
{
  static const uint32_t offsets[ZSTD_OFFSETS] = {1, 1, 1};
  struct zstd_dictionary dictionary = {0};
  zstd_dictionary_make(&frame->tables, offsets, &dictionary);
  CLEANUP(context_free) ZSTD_DCtx *context = context_new(frame->memory);
  return context && !ZSTD_isError(ZSTD_decompressBegin_usingDict(context, dictionary.bytes,
                                                                 dictionary.len + 1));
}

bool
zstd_frame_can_save(struct zstd_frame *frame)
{
  uint32_t offsets[ZSTD_OFFSETS];
  if (frame->is_lost || history_bytes(frame) > ZSTD_FRAME_SAVED_MAX)
    return false;
  if (is_at_beginning(frame))
    return true;
  return zstd_offsets_get(frame->offsets, offsets) && are_within(offsets, history_bytes(frame)) &&
         are_tables_taken(frame);
}

void
zstd_frame_save(struct zstd_frame *frame, struct state_sealer *sealer)
{
  CLEANUP(buffer_clear) struct buffer body = {0};
  uint32_t offsets[ZSTD_OFFSETS] = {0};
  (void)zstd_offsets_get(frame->offsets, offsets);
  state_put_number(&body, frame->facts.window_bytes);
  state_put_number(&body, frame->facts.content_bytes);
  state_put_number(&body, frame->facts.has_checksum);
  state_put_number(&body, frame->decoded);
  xxh64_save(&frame->hash, &body);
  zstd_tables_save(&frame->tables, &body);
  for (size_t i = 0; i < ZSTD_OFFSETS; i++)
    state_put_number(&body, offsets[i]);
  /* as state_put_bytes() would have it */
  state_put_number(&body, history_bytes(frame));
  state_sealer_add(sealer, body.data, body.len);
  zstd_window_save(&frame->window, history_bytes(frame), sealer);
}

/* ---- restoring ---------------------------------------------------------------------------------
 */

static int
refuse(struct error **err)
{
  return error_set(err, ERROR_DATA_LOSS, "zstd: saved state: damaged");
}

/* The history becomes the content of a dictionary, and the blocks to come lie right behind it. */
static int
restore_context(struct zstd_frame *frame, const uint32_t offsets[ZSTD_OFFSETS], const void *history,
                size_t len, struct error **err)
{
  struct zstd_dictionary dictionary = {0};
  if (!is_at_beginning(frame)) {
    if (!are_within(offsets, len))
      return refuse(err);
    zstd_dictionary_make(&frame->tables, offsets, &dictionary);
  }
  const void *bytes = zstd_window_restore(&frame->window, &dictionary, history, len);
  if (!bytes)
    return refuse(err);
  size_t r = dictionary.len > 0 ? begin_context(frame, bytes, dictionary.len + len)
                                : begin_context(frame, NULL, 0);
  return ZSTD_isError(r) ? refuse(err) : 0;
}

int
zstd_frame_restore(struct zstd_frame *frame, struct state_reader *reader, struct error **err)
{
  struct zstd_frame_facts facts = {0};
  uint32_t offsets[ZSTD_OFFSETS];
  size_t len = 0;
  facts.window_bytes = state_get_number_up_to(reader, (uint64_t)1 << ZSTD_STREAM_WINDOW_LOG_MAX);
  facts.content_bytes = state_get_number(reader);
  facts.has_checksum = state_get_number_up_to(reader, 1) != 0;
  if (reader->failed)
    return refuse(err);
  if (zstd_frame_begin(frame, &facts, err) < 0)
    return -1;
  frame->decoded = state_get_number(reader);
  xxh64_restore(&frame->hash, reader);
  zstd_tables_restore(&frame->tables, reader);
  for (size_t i = 0; i < ZSTD_OFFSETS; i++)
    offsets[i] = (uint32_t)state_get_number_up_to(reader, UINT32_MAX);
  const void *history = state_get_bytes(reader, ZSTD_FRAME_SAVED_MAX, &len);
  if (reader->failed || frame->decoded > facts.content_bytes || len != history_bytes(frame))
    return refuse(err);
  zstd_offsets_set(frame->offsets, is_at_beginning(frame) ? initial_offsets : offsets);
  return restore_context(frame, offsets, history, len, err);
}
