/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/raw_content.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/probe.h"
#include "populator/format/state.h"
#include "populator/format/zero.h"
#include "populator/transfer/content_writer.h"

#define STATE_FORM 0x72617732 /* "raw2" */
#define STATE_MAX 1024
#define STEP_BYTES ((size_t)1 << 20)

enum { IS_DISK = 1, IS_AT_END = 2, IS_VHD = 4, ALL_FLAGS = 7 };

struct raw_content {
  struct content_stream content;
  struct stream *below;
  uint64_t offset;
  unsigned flags;
  char held[PROBE_FOOTER_BYTES]; /* behind what was given: it may be a footer */
  size_t held_back;
};

/* Reads on until there are `want` bytes in the room, which has `have`; there are less only at the
 * end of the disk, and then a footer is taken off. */
static int
fill(struct raw_content *raw, char *room, size_t want, size_t *have, struct error **err)
{
  size_t kept = raw->flags & IS_DISK ? PROBE_FOOTER_BYTES : 0;
  if (raw->flags & IS_AT_END || *have >= want)
    return 0;
  ssize_t len = stream_read_most(raw->below, room + *have, want - *have, err);
  if (len < 0)
    return -1;
  *have += (size_t)len;
  if (*have == want)
    return 0;
  raw->flags |= IS_AT_END;
  if (kept > 0 && *have >= kept && probe_is_vhd_footer(room + *have - kept, kept)) {
    *have -= kept;
    raw->flags |= IS_VHD;
  }
  return 0;
}

/* A piece that ends where an object ends, so that it becomes one write; or, where it begins with
 * zeros, only a step of it. Then the same memory is used for the next one: most disks are mostly
 * zeros, and these never leave the processor's cache. What may be a footer is held back. */
static int
read_piece(struct raw_content *raw, char *room, struct content_piece *ret_piece, struct error **err)
{
  size_t kept = raw->flags & IS_DISK ? PROBE_FOOTER_BYTES : 0;
  size_t to_end = CONTENT_WRITER_BUFFER_BYTES - (size_t)(raw->offset % CONTENT_WRITER_BUFFER_BYTES);
  size_t len = to_end < STEP_BYTES ? to_end : STEP_BYTES;
  size_t have = raw->held_back;
  memcpy(room, raw->held, have);
  if (fill(raw, room, len + kept, &have, err) < 0)
    return -1;
  bool is_zero = zero_is_all(room, have < len ? have : len);
  if (!is_zero) {
    len = to_end;
    if (fill(raw, room, len + kept, &have, err) < 0)
      return -1;
  }
  if (len > have)
    len = have;
  raw->held_back = have - len;
  memcpy(raw->held, room + len, raw->held_back);
  *ret_piece =
      (struct content_piece){.offset = raw->offset, .len = len, .data = room, .is_zero = is_zero};
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
raw_next(struct content_stream *content, char *room, struct content_piece *ret_piece,
         struct error **err)
{
  struct raw_content *raw = (struct raw_content *)content;
  if (read_piece(raw, room, ret_piece, err) < 0)
    return -1;
  raw->offset += ret_piece->len;
  return ret_piece->len == 0 ? check_end(raw, err) : 0;
}

static int
raw_save(struct content_stream *content, struct buffer *state, struct error **err)
{
  struct raw_content *raw = (struct raw_content *)content;
  CLEANUP(buffer_clear) struct buffer body = {0};
  state_put_number(&body, raw->offset);
  state_put_number(&body, raw->flags);
  state_put_bytes(&body, raw->held, raw->held_back);
  return state_seal(STATE_FORM, &body, state, err);
}

static void
raw_close(struct content_stream *content)
{
  struct raw_content *raw = (struct raw_content *)content;
  stream_close(raw->below);
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
    memcpy(raw->held, held, held_len);
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
