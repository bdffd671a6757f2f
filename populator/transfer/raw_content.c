/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/raw_content.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/probe.h"
#include "populator/format/state.h"
#include "populator/transfer/content_writer.h"

#define STATE_FORM 0x72617732 /* "raw2" */
#define STATE_MAX 1024

enum { IS_DISK = 1, IS_AT_END = 2, IS_VHD = 4, ALL_FLAGS = 7 };

struct raw_content {
  struct content_stream content;
  struct stream *below;
  uint64_t offset;
  unsigned flags;
  char *buffer;     /* CONTENT_WRITER_BUFFER_BYTES, and what may be a footer */
  size_t given;     /* of it, by the last call … */
  size_t held_back; /* … and what comes behind that */
};

/* Reads so that `room` bytes can be given, and those are behind them that may be a footer. */
static int
fill(struct raw_content *raw, size_t room, struct error **err)
{
  size_t kept = raw->flags & IS_DISK ? PROBE_FOOTER_BYTES : 0;
  size_t want = room + kept - raw->held_back;
  memmove(raw->buffer, raw->buffer + raw->given, raw->held_back);
  raw->given = 0;
  ssize_t len = stream_read_most(raw->below, raw->buffer + raw->held_back, want, err);
  if (len < 0)
    return -1;
  bool was_at_end = raw->flags & IS_AT_END;
  raw->held_back += (size_t)len;
  if ((size_t)len < want)
    raw->flags |= IS_AT_END;
  const char *footer = raw->buffer + raw->held_back - kept;
  if (kept > 0 && !was_at_end && raw->flags & IS_AT_END && raw->held_back >= kept &&
      probe_is_vhd_footer(footer, kept)) {
    raw->held_back -= kept;
    raw->flags |= IS_VHD;
  }
  return 0;
}

static int
check_end(const struct raw_content *raw, struct error **err)
{
  uint64_t size = raw->content.virtual_size;
  uint64_t end = raw->offset + (raw->flags & IS_VHD ? PROBE_FOOTER_BYTES : 0);
  if (size != CONTENT_SIZE_UNKNOWN && end != size)
    return error_set(err, ERROR_DATA_LOSS, "the disk ends at byte %llu, it should have %llu",
                     (unsigned long long)end, (unsigned long long)size);
  return 0;
}

static int
raw_next(struct content_stream *content, struct content_piece *ret_piece, struct error **err)
{
  struct raw_content *raw = (struct raw_content *)content;
  /* Pieces end where objects end, so that each becomes one write. */
  size_t room = CONTENT_WRITER_BUFFER_BYTES - (size_t)(raw->offset % CONTENT_WRITER_BUFFER_BYTES);
  if (fill(raw, room, err) < 0)
    return -1;
  raw->given = raw->held_back < room ? raw->held_back : room;
  raw->held_back -= raw->given;
  *ret_piece =
      (struct content_piece){.offset = raw->offset, .len = raw->given, .data = raw->buffer};
  raw->offset += raw->given;
  return raw->given == 0 ? check_end(raw, err) : 0;
}

static int
raw_save(struct content_stream *content, struct buffer *state, struct error **err)
{
  struct raw_content *raw = (struct raw_content *)content;
  CLEANUP(buffer_clear) struct buffer body = {0};
  state_put_number(&body, raw->offset);
  state_put_number(&body, raw->flags);
  state_put_bytes(&body, raw->buffer + raw->given, raw->held_back);
  return state_seal(STATE_FORM, &body, state, err);
}

static void
raw_close(struct content_stream *content)
{
  struct raw_content *raw = (struct raw_content *)content;
  stream_close(raw->below);
  free(raw->buffer);
  free(raw);
}

static const struct content_stream_ops ops = {
    .name = "raw",
    .next = raw_next,
    .save = raw_save,
    .close = raw_close,
};

static struct raw_content *
make(struct stream *below, uint64_t size, uint64_t offset, unsigned flags)
{
  struct raw_content *raw = xcalloc(1, sizeof(*raw));
  raw->content = (struct content_stream){.ops = &ops, .virtual_size = size, .below = below};
  raw->below = below;
  raw->offset = offset;
  raw->flags = flags;
  raw->buffer = xcalloc(1, CONTENT_WRITER_BUFFER_BYTES + PROBE_FOOTER_BYTES);
  return raw;
}

struct content_stream *
raw_content_new(struct stream *below, uint64_t size)
{
  return &make(below, size, 0, IS_DISK)->content;
}

struct content_stream *
raw_content_new_file(struct stream *below, uint64_t offset)
{
  return &make(below, CONTENT_SIZE_UNKNOWN, offset, 0)->content;
}

int
raw_content_restore(struct stream *below, uint64_t size, const void *state, size_t len,
                    size_t *ret_used, struct content_stream **ret_content, struct error **err)
{
  CLEANUP(stream_closep) struct stream *owned = below;
  CLEANUP(buffer_clear) struct buffer body = {0};
  if (state_unseal(STATE_FORM, state, len, STATE_MAX, &body, ret_used, err) < 0)
    return -1;
  struct state_reader reader = {.at = (const unsigned char *)body.data, .left = body.len};
  uint64_t offset = state_get_number(&reader);
  unsigned flags = (unsigned)state_get_number_up_to(&reader, ALL_FLAGS);
  size_t held_len = 0;
  const void *held = state_get_bytes(&reader, PROBE_FOOTER_BYTES, &held_len);
  if (reader.failed || reader.left > 0)
    return error_set(err, ERROR_DATA_LOSS, "the saved state of a raw disk is broken");
  struct raw_content *raw = make(TAKE(owned), size, offset, flags);
  if (held_len > 0)
    memcpy(raw->buffer, held, held_len);
  raw->held_back = held_len;
  *ret_content = &raw->content;
  return 0;
}

uint64_t
raw_content_offset(const struct content_stream *content)
{
  return ((const struct raw_content *)content)->offset;
}

bool
raw_content_is_vhd(const struct content_stream *content)
{
  return content->ops == &ops && (((const struct raw_content *)content)->flags & IS_VHD) != 0;
}
