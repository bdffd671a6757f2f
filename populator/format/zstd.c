/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd.h"

#define ZSTD_STATIC_LINKING_ONLY /* what a frame's header says */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/base/memory.h"
#include "populator/format/decoded_ahead.h"
#include "populator/format/zstd_frame.h"

#define FORM 0x32647a69 /* "izd2" */
/* Unread input goes into every saved state, so it is kept small; a block has to lie in one piece.
 */
#define IN_BYTES ((size_t)256 << 10)
/* Decoded ahead to where it can be saved before it is given up: not here. */
#define SETTLE_MAX ((size_t)4 << 20)
#define SETTLE_STEP ((size_t)128 << 10)
#define STATE_BODY_MAX (ZSTD_FRAME_SAVED_MAX + 2 * SETTLE_MAX)

/* What comes next in the file. */
enum phase { PHASE_HEADER, PHASE_SKIP, PHASE_BLOCK, PHASE_CHECKSUM, PHASE_END };

struct zstd_stream {
  struct stream stream;
  struct decoder_memory *memory;
  struct zstd_frame *frame;
  enum phase phase;
  bool has_begun;     /* with its first frame: a file without any is none */
  uint64_t skip_left; /* of a frame without data */
  uint64_t frames;    /* that were read to their ends */
  struct decoded_ahead ahead;
  bool is_below_at_end;
  size_t in_at, in_end; /* what was not taken yet */
  unsigned char in[IN_BYTES];
};

static struct zstd_stream *
zstd_of(struct stream *stream)
{
  return (struct zstd_stream *)stream;
}

/* ---- input -------------------------------------------------------------------------------------
 */

static size_t
in_left(const struct zstd_stream *zstd)
{
  return zstd->in_end - zstd->in_at;
}

/* Reads until len bytes lie in one piece; fewer only at the end of the file. */
static int
fill(struct zstd_stream *zstd, size_t len, struct error **err)
{
  if (in_left(zstd) >= len || zstd->is_below_at_end)
    return 0;
  memmove(zstd->in, zstd->in + zstd->in_at, in_left(zstd));
  zstd->in_end = in_left(zstd);
  zstd->in_at = 0;
  while (zstd->in_end < len && !zstd->is_below_at_end) {
    ssize_t got =
        stream_read(zstd->stream.below, zstd->in + zstd->in_end, IN_BYTES - zstd->in_end, err);
    if (got < 0)
      return -1;
    zstd->in_end += (size_t)got;
    zstd->is_below_at_end = got == 0;
  }
  return 0;
}

/* Exactly len bytes in one piece, not yet taken. */
static int
need(struct zstd_stream *zstd, size_t len, struct error **err)
{
  if (fill(zstd, len, err) < 0)
    return -1;
  if (in_left(zstd) < len)
    return error_set(err, ERROR_DATA_LOSS, "zstd: the file ends too early");
  return 0;
}

/* ---- frames ------------------------------------------------------------------------------------
 */

static int
begin_frame(struct zstd_stream *zstd, const ZSTD_frameHeader *header, struct error **err)
{
  if (header->frameType == ZSTD_skippableFrame) {
    zstd->skip_left = header->frameContentSize;
    zstd->phase = PHASE_SKIP;
    return 0;
  }
  if (header->dictID != 0)
    return zstd_frame_explain(zstd->memory, ZSTD_error_dictionary_wrong, err);
  const struct zstd_frame_facts facts = {
      .window_bytes = header->windowSize,
      .content_bytes = header->frameContentSize,
      .has_checksum = header->checksumFlag != 0,
  };
  zstd->phase = PHASE_BLOCK;
  return zstd_frame_begin(zstd->frame, &facts, err);
}

static int
read_header(struct zstd_stream *zstd, struct error **err)
{
  ZSTD_frameHeader header;
  if (fill(zstd, 1, err) < 0)
    return -1;
  if (in_left(zstd) == 0 && zstd->has_begun) {
    zstd->phase = PHASE_END;
    return 0;
  }
  zstd->has_begun = true;
  for (size_t len = ZSTD_FRAMEHEADERSIZE_MIN(ZSTD_f_zstd1); len > 0;) {
    if (need(zstd, len, err) < 0)
      return -1;
    size_t r = ZSTD_getFrameHeader(&header, zstd->in + zstd->in_at, in_left(zstd));
    if (ZSTD_isError(r))
      return zstd_frame_explain(zstd->memory, ZSTD_getErrorCode(r), err);
    len = r;
  }
  zstd->in_at +=
      header.frameType == ZSTD_skippableFrame ? ZSTD_SKIPPABLEHEADERSIZE : header.headerSize;
  return begin_frame(zstd, &header, err);
}

static void
end_frame(struct zstd_stream *zstd)
{
  zstd->frames++;
  zstd->phase = PHASE_HEADER;
}

static int
skip(struct zstd_stream *zstd, struct error **err)
{
  if (zstd->skip_left > 0 && need(zstd, 1, err) < 0)
    return -1;
  size_t part = zstd->skip_left < in_left(zstd) ? (size_t)zstd->skip_left : in_left(zstd);
  zstd->in_at += part;
  zstd->skip_left -= part;
  if (zstd->skip_left == 0)
    end_frame(zstd);
  return 0;
}

static int
read_block(struct zstd_stream *zstd, struct error **err)
{
  size_t len;
  bool is_last;
  if (need(zstd, ZSTD_FRAME_BLOCK_HEADER, err) < 0 ||
      zstd_frame_block_len(zstd->frame, zstd->in + zstd->in_at, &len, &is_last, err) < 0)
    return -1;
  len += ZSTD_FRAME_BLOCK_HEADER;
  if (need(zstd, len, err) < 0 ||
      zstd_frame_decode(zstd->frame, zstd->in + zstd->in_at, len, err) < 0)
    return -1;
  zstd->in_at += len;
  if (is_last && zstd_frame_has_checksum(zstd->frame))
    zstd->phase = PHASE_CHECKSUM;
  else if (is_last)
    end_frame(zstd);
  return 0;
}

static int
read_checksum(struct zstd_stream *zstd, struct error **err)
{
  if (need(zstd, ZSTD_FRAME_CHECKSUM, err) < 0 ||
      zstd_frame_verify(zstd->frame, zstd->in + zstd->in_at, err) < 0)
    return -1;
  zstd->in_at += ZSTD_FRAME_CHECKSUM;
  end_frame(zstd);
  return 0;
}

/* Goes on by a header, a block or the like; all that was decoded has been read. */
static int
step(struct zstd_stream *zstd, struct error **err)
{
  switch (zstd->phase) {
  case PHASE_HEADER:
    return read_header(zstd, err);
  case PHASE_SKIP:
    return skip(zstd, err);
  case PHASE_BLOCK:
    return read_block(zstd, err);
  case PHASE_CHECKSUM:
    return read_checksum(zstd, err);
  case PHASE_END:
    break;
  }
  return 0;
}

/* Fills buf; less only at the end of the file. */
static ssize_t
zstd_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct zstd_stream *zstd = zstd_of(stream);
  size_t got = decoded_ahead_read(&zstd->ahead, buf, len);
  if (got > 0)
    return (ssize_t)got;
  for (;;) {
    got += zstd_frame_read(zstd->frame, (char *)buf + got, len - got);
    if (got == len || zstd->phase == PHASE_END)
      return (ssize_t)got;
    if (step(zstd, err) < 0)
      return -1;
  }
}

/* ---- saving ------------------------------------------------------------------------------------
 */

/* Puts aside what was decoded and not read. */
static void
put_aside(struct zstd_stream *zstd, char *room)
{
  for (size_t got; (got = zstd_frame_read(zstd->frame, room, SETTLE_STEP)) > 0;)
    decoded_ahead_add(&zstd->ahead, room, got);
}

/* Between two frames there is nothing to save, and behind the last block nothing but a checksum. */
static bool
is_settled(struct zstd_stream *zstd)
{
  return zstd->phase == PHASE_BLOCK ? zstd_frame_can_save(zstd->frame)
                                    : zstd->phase != PHASE_CHECKSUM;
}

/* Decodes ahead to the end of a block where the frame can be saved, or to the end of the frame. */
static int
settle(struct zstd_stream *zstd, struct error **err)
{
  CLEANUP(freep) char *room = xcalloc(1, SETTLE_STEP);
  put_aside(zstd, room);
  while (!is_settled(zstd)) {
    if (decoded_ahead_left(&zstd->ahead) > SETTLE_MAX)
      return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                       "zstd: cannot be saved here, in the middle of a long frame");
    if (step(zstd, err) < 0)
      return -1;
    put_aside(zstd, room);
  }
  return 0;
}

static int
zstd_save(struct stream *stream, struct buffer *state, struct error **err)
{
  struct zstd_stream *zstd = zstd_of(stream);
  if (settle(zstd, err) < 0)
    return -1;
  CLEANUP(state_sealer_freep) struct state_sealer *sealer = state_sealer_new(FORM, state);
  CLEANUP(buffer_clear) struct buffer body = {0};
  state_put_number(&body, zstd->phase);
  state_put_number(&body, zstd->has_begun);
  state_put_number(&body, zstd->skip_left);
  state_put_number(&body, zstd->is_below_at_end);
  state_put_bytes(&body, zstd->in + zstd->in_at, in_left(zstd));
  decoded_ahead_save(&zstd->ahead, &body);
  state_sealer_add(sealer, body.data, body.len);
  if (zstd->phase == PHASE_BLOCK)
    zstd_frame_save(zstd->frame, sealer);
  return state_sealer_finish(sealer, err);
}

static void
zstd_close(struct stream *stream)
{
  struct zstd_stream *zstd = zstd_of(stream);
  stream_close(zstd->stream.below);
  zstd_frame_free(zstd->frame);
  decoded_ahead_clear(&zstd->ahead);
  decoder_memory_leave(zstd->memory);
  free(zstd);
}

static struct decoder_memory *
zstd_memory(struct stream *stream)
{
  return zstd_of(stream)->memory;
}

static uint64_t
zstd_count(struct stream *stream)
{
  return zstd_of(stream)->frames;
}

static const struct stream_ops zstd_ops = {
    .name = "zstd",
    .read = zstd_read,
    .save = zstd_save,
    .close = zstd_close,
    .count = zstd_count,
    .memory = zstd_memory,
};

int
zstd_stream_new(struct stream *below, struct stream **ret_stream, struct error **err)
{
  struct zstd_stream *zstd = xcalloc(1, sizeof(*zstd));
  zstd->stream = (struct stream){.ops = &zstd_ops, .below = below};
  CLEANUP(stream_closep) struct stream *stream = &zstd->stream;
  zstd->memory = decoder_memory_join(below);
  zstd->frame = zstd_frame_new(zstd->memory);
  if (!zstd->frame)
    return decoder_memory_refuse(zstd->memory, "zstd", err);
  *ret_stream = TAKE(stream);
  return 0;
}

static int
restore(struct zstd_stream *zstd, struct state_reader *reader, struct error **err)
{
  size_t in_len = 0, ahead_len = 0;
  zstd->phase = (enum phase)state_get_number_up_to(reader, PHASE_END);
  if (zstd->phase == PHASE_CHECKSUM)
    reader->failed = true;
  zstd->has_begun = state_get_number_up_to(reader, 1) != 0;
  zstd->skip_left = state_get_number_up_to(reader, UINT32_MAX);
  zstd->is_below_at_end = state_get_number_up_to(reader, 1) != 0;
  const void *in = state_get_bytes(reader, sizeof(zstd->in), &in_len);
  const void *ahead = state_get_bytes(reader, SIZE_MAX, &ahead_len);
  if (!reader->failed && zstd->phase == PHASE_BLOCK &&
      zstd_frame_restore(zstd->frame, reader, err) < 0)
    return -1;
  if (reader->failed || reader->left > 0)
    return error_set(err, ERROR_DATA_LOSS, "zstd: saved state: damaged");
  memcpy(zstd->in, in, in_len);
  zstd->in_end = in_len;
  decoded_ahead_add(&zstd->ahead, ahead, ahead_len);
  return 0;
}

int
zstd_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                    struct stream **ret_stream, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CLEANUP(buffer_clear) struct buffer body = {0};
  size_t used;
  if (zstd_stream_new(below, &stream, err) < 0)
    return -1;
  if (state_unseal(FORM, state, len, STATE_BODY_MAX, &body, &used, err) < 0)
    return error_wrap(err, "zstd");
  struct state_reader reader = {.at = (const unsigned char *)body.data, .left = body.len};
  if (restore(zstd_of(stream), &reader, err) < 0)
    return -1;
  *ret_used = used;
  *ret_stream = TAKE(stream);
  return 0;
}
