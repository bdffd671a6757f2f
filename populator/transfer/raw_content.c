/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/raw_content.h"

#include "lib/base/memory.h"
#include "populator/format/state.h"
#include "populator/transfer/content_writer.h"

#define STATE_FORM 0x72617731 /* "raw1" */
#define STATE_MAX 64

struct raw_content {
  struct content_stream content;
  struct stream *below;
  uint64_t offset;
  char *buffer; /* CONTENT_WRITER_BUFFER_BYTES */
};

static int
raw_next(struct content_stream *content, struct content_piece *ret_piece, struct error **err)
{
  struct raw_content *raw = (struct raw_content *)content;
  /* Pieces end where objects end, so that each becomes one write. */
  size_t room = CONTENT_WRITER_BUFFER_BYTES - (size_t)(raw->offset % CONTENT_WRITER_BUFFER_BYTES);
  ssize_t len = stream_read_most(raw->below, raw->buffer, room, err);
  if (len < 0)
    return -1;
  *ret_piece =
      (struct content_piece){.offset = raw->offset, .len = (size_t)len, .data = raw->buffer};
  raw->offset += (uint64_t)len;
  if (len == 0 && content->virtual_size != CONTENT_SIZE_UNKNOWN &&
      raw->offset != content->virtual_size)
    return error_set(err, ERROR_DATA_LOSS, "the disk ends at byte %llu, it should have %llu",
                     (unsigned long long)raw->offset, (unsigned long long)content->virtual_size);
  return 0;
}

static int
raw_save(struct content_stream *content, struct buffer *state, struct error **err)
{
  struct raw_content *raw = (struct raw_content *)content;
  CLEANUP(buffer_clear) struct buffer body = {0};
  state_put_number(&body, raw->offset);
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

struct content_stream *
raw_content_new(struct stream *below, uint64_t size)
{
  struct raw_content *raw = xcalloc(1, sizeof(*raw));
  raw->content = (struct content_stream){.ops = &ops, .virtual_size = size, .below = below};
  raw->below = below;
  raw->buffer = xcalloc(1, CONTENT_WRITER_BUFFER_BYTES);
  return &raw->content;
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
  if (reader.failed || reader.left > 0)
    return error_set(err, ERROR_DATA_LOSS, "the saved state of a raw disk is broken");
  *ret_content = raw_content_new(TAKE(owned), size);
  ((struct raw_content *)*ret_content)->offset = offset;
  return 0;
}
