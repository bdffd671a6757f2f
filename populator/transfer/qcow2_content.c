/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/qcow2_content.h"

#include <assert.h>

#include "lib/base/memory.h"
#include "populator/format/qcow2_cluster.h"
#include "populator/transfer/content_writer.h"

struct qcow2_content {
  struct content_stream content;
  struct qcow2_stream *stream;
  struct qcow2_cluster_decoder *decoder;
  char *cluster; /* decompressed */
  uint64_t end;  /* on the disk, of the last piece */
  bool is_full;
};

static_assert(CONTENT_WRITER_BUFFER_BYTES + QCOW2_STREAM_BUFFER_MIN <= CONTENT_ROOM_BYTES, "room");

/* The next piece most likely begins where the last one ended: up to the end of an object there, of
 * the second one where the first is too near. */
static size_t
room_to_use(const struct qcow2_content *self)
{
  size_t to_end = CONTENT_WRITER_BUFFER_BYTES - (size_t)(self->end % CONTENT_WRITER_BUFFER_BYTES);
  return to_end < QCOW2_STREAM_BUFFER_MIN ? to_end + CONTENT_WRITER_BUFFER_BYTES : to_end;
}

static int
qcow2_next(struct content_stream *content, char *room, struct content_piece *ret_piece,
           struct error **err)
{
  struct qcow2_content *self = (struct qcow2_content *)content;
  struct qcow2_extent extent;
  *ret_piece = (struct content_piece){0};
  int r = qcow2_stream_next(self->stream, room, room_to_use(self), &extent, err);
  if (r < 0)
    return -1;
  if (r == QCOW2_STREAM_END)
    return 0;
  if (r == QCOW2_STREAM_FULL) {
    self->is_full = true;
    return error_set(err, ERROR_UNIMPLEMENTED,
                     "the qcow2 file is in an order that cannot be read in one pass");
  }
  *ret_piece = (struct content_piece){
      .offset = extent.virtual_offset, .len = (size_t)extent.length, .data = room};
  self->end = extent.virtual_offset + extent.length;
  if (!extent.is_compressed)
    return 0;
  ret_piece->data = self->cluster;
  return qcow2_cluster_decode(self->decoder, room, (size_t)extent.host_length, self->cluster,
                              (size_t)extent.length, err);
}

static int
qcow2_save(struct content_stream *content, struct buffer *state, struct error **err)
{
  return qcow2_stream_save(((struct qcow2_content *)content)->stream, state, err);
}

static void
qcow2_close(struct content_stream *content)
{
  struct qcow2_content *self = (struct qcow2_content *)content;
  qcow2_stream_close(self->stream);
  qcow2_cluster_decoder_free(self->decoder);
  free(self->cluster);
  free(self);
}

static const struct content_stream_ops ops = {
    .name = "qcow2",
    .next = qcow2_next,
    .save = qcow2_save,
    .close = qcow2_close,
};

static struct content_stream *
wrap(struct qcow2_stream *stream)
{
  const struct qcow2_header *header = qcow2_stream_header(stream);
  struct qcow2_content *self = xcalloc(1, sizeof(*self));
  self->content = (struct content_stream){
      .ops = &ops, .virtual_size = header->virtual_size, .below = qcow2_stream_below(stream)};
  self->stream = stream;
  self->decoder = qcow2_cluster_decoder_new(header->compression, (size_t)1 << header->cluster_bits);
  self->cluster = xcalloc(1, (size_t)1 << header->cluster_bits);
  return &self->content;
}

int
qcow2_content_new(struct stream *below, struct content_stream **ret_content, struct error **err)
{
  struct qcow2_stream *stream;
  if (qcow2_stream_open(below, QCOW2_STREAM_WINDOW, &stream, err) < 0)
    return -1;
  *ret_content = wrap(stream);
  return 0;
}

int
qcow2_content_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                      struct content_stream **ret_content, struct error **err)
{
  struct qcow2_stream *stream;
  if (qcow2_stream_restore(below, QCOW2_STREAM_WINDOW, state, len, ret_used, &stream, err) < 0)
    return -1;
  *ret_content = wrap(stream);
  return 0;
}

struct qcow2_stream *
qcow2_content_is_full(struct content_stream *content)
{
  if (content->ops != &ops)
    return NULL;
  struct qcow2_content *self = (struct qcow2_content *)content;
  return self->is_full ? self->stream : NULL;
}
