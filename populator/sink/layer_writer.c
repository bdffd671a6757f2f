/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/sink/layer_writer.h"

#include <inttypes.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "populator/sink/disk_layer.h"

struct layer_writer {
  struct checksum checksum; /* of the archive, before compression */
  struct gzip_writer *gzip; /* NULL: none */
  gzip_writer_take *take;
  void *context;
  uint64_t size; /* of the disk */
  uint64_t left;
};

struct layer_writer *
layer_writer_new(bool is_compressed, gzip_writer_take *take, void *context)
{
  struct layer_writer *writer = xcalloc(1, sizeof(*writer));
  checksum_init(&writer->checksum, CHECKSUM_SHA256);
  writer->gzip = is_compressed ? gzip_writer_new(take, context) : NULL;
  writer->take = take;
  writer->context = context;
  return writer;
}

void
layer_writer_free(struct layer_writer *writer)
{
  if (!writer)
    return;
  gzip_writer_free(writer->gzip);
  free(writer);
}

/* A piece of the archive. */
static int
put(struct layer_writer *writer, const void *data, size_t len, struct error **err)
{
  checksum_update(&writer->checksum, data, len);
  return writer->gzip ? gzip_writer_write(writer->gzip, data, len, err)
                      : writer->take(writer->context, data, len, err);
}

int
layer_writer_begin(struct layer_writer *writer, const char *name, uint64_t size, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer head = {0};
  writer->size = writer->left = size;
  disk_layer_head(name, size, &head);
  return put(writer, head.data, head.len, err);
}

int
layer_writer_write(struct layer_writer *writer, const void *data, size_t len, struct error **err)
{
  if (len > writer->left)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "the disk is longer than the %" PRIu64 " bytes it was "
                     "said to be",
                     writer->size);
  writer->left -= len;
  return put(writer, data, len, err);
}

int
layer_writer_finish(struct layer_writer *writer, char ret_diff_id[CHECKSUM_TEXT_MAX],
                    struct error **err)
{
  CLEANUP(buffer_clear) struct buffer tail = {0};
  if (writer->left > 0)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "the disk ends %" PRIu64 " bytes before the %" PRIu64 " it was said to have",
                     writer->left, writer->size);
  disk_layer_tail(writer->size, &tail);
  if (put(writer, tail.data, tail.len, err) < 0 ||
      (writer->gzip && gzip_writer_finish(writer->gzip, err) < 0))
    return -1;
  checksum_text(&writer->checksum, ret_diff_id);
  return 0;
}
