/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/gzip_writer.h"

#include <isa-l/igzip_lib.h>

#include "lib/base/memory.h"

#define LEVEL 1
#define OUT_BYTES ((size_t)256 << 10)
/* ISA-L counts in 32 bits. */
#define IN_BYTES_MAX ((size_t)1 << 30)

struct gzip_writer {
  struct isal_zstream deflate;
  uint8_t *level_buf;
  uint8_t *out;
  gzip_writer_take *take;
  void *context;
};

struct gzip_writer *
gzip_writer_new(gzip_writer_take *take, void *context)
{
  struct gzip_writer *writer = xcalloc(1, sizeof(*writer));
  writer->take = take;
  writer->context = context;
  writer->out = xcalloc(OUT_BYTES, 1);
  writer->level_buf = xcalloc(ISAL_DEF_LVL1_DEFAULT, 1);
  isal_deflate_init(&writer->deflate);
  writer->deflate.level = LEVEL;
  writer->deflate.level_buf = writer->level_buf;
  writer->deflate.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
  writer->deflate.gzip_flag = IGZIP_GZIP;
  return writer;
}

void
gzip_writer_free(struct gzip_writer *writer)
{
  if (!writer)
    return;
  free(writer->level_buf);
  free(writer->out);
  free(writer);
}

/* Compresses all that avail_in says, and at the end of the stream whatever is held back. */
static int
run(struct gzip_writer *writer, struct error **err)
{
  struct isal_zstream *deflate = &writer->deflate;
  do {
    deflate->next_out = writer->out;
    deflate->avail_out = (uint32_t)OUT_BYTES;
    int r = isal_deflate(deflate);
    if (r != COMP_OK)
      return error_set(err, ERROR_INTERNAL, "compress: ISA-L answers %d", r);
    size_t made = OUT_BYTES - deflate->avail_out;
    if (made > 0 && writer->take(writer->context, writer->out, made, err) < 0)
      return -1;
  } while (deflate->avail_out == 0);
  return 0;
}

int
gzip_writer_write(struct gzip_writer *writer, const void *data, size_t len, struct error **err)
{
  while (len > 0) {
    size_t part = len < IN_BYTES_MAX ? len : IN_BYTES_MAX;
    writer->deflate.next_in = (uint8_t *)data;
    writer->deflate.avail_in = (uint32_t)part;
    if (run(writer, err) < 0)
      return -1;
    data = (const char *)data + part;
    len -= part;
  }
  return 0;
}

int
gzip_writer_finish(struct gzip_writer *writer, struct error **err)
{
  writer->deflate.end_of_stream = 1;
  writer->deflate.flush = NO_FLUSH;
  writer->deflate.next_in = NULL;
  writer->deflate.avail_in = 0;
  do {
    if (run(writer, err) < 0)
      return -1;
  } while (writer->deflate.internal_state.state != ZSTATE_END);
  return 0;
}
