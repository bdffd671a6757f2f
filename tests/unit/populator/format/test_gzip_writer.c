/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/gzip_writer.h"

#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "populator/format/gzip.h"
#include "tests/unit/populator/byte_stream.h"
#include "tests/unit/unit.h"

static int
take(void *context, const void *data, size_t len, struct error **err)
{
  (void)err;
  (void)buffer_append(context, data, len);
  return 0;
}

/* Compresses in pieces of this size. */
static void
compress(const struct buffer *content, size_t piece, struct buffer *file)
{
  CLEANUP(gzip_writer_freep) struct gzip_writer *writer = gzip_writer_new(take, file);
  for (size_t at = 0; at < content->len; at += piece) {
    size_t len = content->len - at < piece ? content->len - at : piece;
    REQUIRE(gzip_writer_write(writer, content->data + at, len, NULL) == 0);
  }
  REQUIRE(gzip_writer_finish(writer, NULL) == 0);
}

/* Half noise, half nothing. */
static void
make_content(struct buffer *content, size_t len)
{
  uint32_t noise = 1;
  for (size_t i = 0; i < len; i++) {
    noise = noise * 1103515245 + 12345;
    char byte = (i >> 12) & 1 ? 0 : (char)(noise >> 16);
    (void)buffer_append(content, &byte, 1);
  }
}

static void
test_what_goes_in_comes_out(void)
{
  static const size_t sizes[] = {0, 1, 100, 65536, 1000003};
  static const size_t pieces[] = {1000, 65536, 1 << 20};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    CLEANUP(buffer_clear) struct buffer content = {0};
    make_content(&content, sizes[i]);
    for (size_t j = 0; j < sizeof(pieces) / sizeof(pieces[0]); j++) {
      CLEANUP(buffer_clear) struct buffer file = {0};
      CLEANUP(buffer_clear) struct buffer back = {0};
      CLEANUP(stream_closep) struct stream *stream = NULL;
      compress(&content, pieces[j], &file);
      REQUIRE(gzip_stream_new(byte_stream_new(file.data, file.len, 0, 0), &stream, NULL) == 0);
      REQUIRE(byte_stream_drain(stream, &back, NULL) == 0);
      CHECK_NUMBER(back.len, content.len);
      CU_ASSERT(content.len == 0 || memcmp(back.data, content.data, content.len) == 0);
    }
  }
}

static void
test_the_same_in_the_same_out(void)
{
  CLEANUP(buffer_clear) struct buffer content = {0};
  CLEANUP(buffer_clear) struct buffer first = {0};
  CLEANUP(buffer_clear) struct buffer second = {0};
  make_content(&content, 300000);
  compress(&content, 10000, &first);
  compress(&content, 10000, &second);
  CHECK_NUMBER(first.len, second.len);
  CU_ASSERT(memcmp(first.data, second.data, first.len) == 0);
  CU_ASSERT(memcmp(first.data, "\x1f\x8b\x08\0\0\0\0\0", 8) == 0); /* no name, no time */
  CU_ASSERT(first.len < content.len * 3 / 4);
}

UNIT_MAIN("populator/format/gzip_writer", UNIT_TEST(test_what_goes_in_comes_out),
          UNIT_TEST(test_the_same_in_the_same_out))
