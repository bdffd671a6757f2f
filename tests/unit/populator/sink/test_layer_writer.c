/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/sink/layer_writer.h"

#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "populator/format/gzip.h"
#include "populator/registry/oci_manifest.h"
#include "populator/source/disk_stream.h"
#include "tests/unit/populator/byte_stream.h"
#include "tests/unit/unit.h"

static int
take(void *context, const void *data, size_t len, struct error **err)
{
  (void)err;
  (void)buffer_append(context, data, len);
  return 0;
}

static int
refuse(void *context, const void *data, size_t len, struct error **err)
{
  (void)context, (void)data, (void)len;
  return error_set(err, ERROR_UNAVAILABLE, "refused");
}

/* The disk that a layer holds, read back. */
static void
check_layer(const struct buffer *layer, bool is_compressed, const char *expected)
{
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(NULL);
  CLEANUP(buffer_clear) struct buffer content = {0};
  CLEANUP(stream_closep) struct stream *disk = NULL;
  struct disk_place place;
  struct stream *archive = byte_stream_new(layer->data, layer->len, 0, 0);
  if (is_compressed)
    REQUIRE(gzip_stream_new(archive, &archive, NULL) == 0);
  const struct disk_layer opened = {.archive = archive};
  REQUIRE(disk_stream_open(&opened, search, &place, &disk, NULL) == 0);
  REQUIRE(disk);
  REQUIRE(byte_stream_drain(disk, &content, NULL) == 0);
  CHECK_STRING(content.data, expected);
  CHECK_STRING(disk_search_path(search), "disk/name");
}

static void
test_a_disk_in_pieces(void)
{
  for (unsigned is_compressed = 0; is_compressed < 2; is_compressed++) {
    CLEANUP(buffer_clear) struct buffer layer = {0};
    CLEANUP(layer_writer_freep)
    struct layer_writer *writer = layer_writer_new(is_compressed, take, &layer);
    char diff_id[CHECKSUM_TEXT_MAX];
    REQUIRE(layer_writer_begin(writer, "name", 11, NULL) == 0);
    REQUIRE(layer_writer_write(writer, "hello ", 6, NULL) == 0);
    REQUIRE(layer_writer_write(writer, "", 0, NULL) == 0);
    REQUIRE(layer_writer_write(writer, "world", 5, NULL) == 0);
    REQUIRE(layer_writer_finish(writer, diff_id, NULL) == 0);
    check_layer(&layer, is_compressed, "hello world");
    if (!is_compressed)
      CHECK_NUMBER(oci_digest_check(diff_id, layer.data, layer.len, NULL), 0);
  }
}

static void
test_more_or_less_than_was_said(void)
{
  CLEANUP(buffer_clear) struct buffer layer = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(layer_writer_freep) struct layer_writer *writer = layer_writer_new(false, take, &layer);
  char diff_id[CHECKSUM_TEXT_MAX];
  REQUIRE(layer_writer_begin(writer, "name", 5, NULL) == 0);
  REQUIRE(layer_writer_write(writer, "hell", 4, NULL) == 0);
  CHECK_NUMBER(layer_writer_finish(writer, diff_id, &err), -1);
  CHECK_ERROR(&err, ERROR_OUT_OF_RANGE, "ends 1 bytes before the 5");
  CHECK_NUMBER(layer_writer_write(writer, "o!", 2, &err), -1);
  CHECK_ERROR(&err, ERROR_OUT_OF_RANGE, "longer than the 5 bytes");
}

static void
test_failures_are_passed_on(void)
{
  for (unsigned is_compressed = 0; is_compressed < 2; is_compressed++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(layer_writer_freep)
    struct layer_writer *writer = layer_writer_new(is_compressed, refuse, NULL);
    char diff_id[CHECKSUM_TEXT_MAX];
    int r = layer_writer_begin(writer, "name", 0, &err);
    if (r == 0) /* the compressor may hold it back for a while */
      r = layer_writer_finish(writer, diff_id, &err);
    CHECK_NUMBER(r, -1);
    CHECK_ERROR(&err, ERROR_UNAVAILABLE, "refused");
  }
}

UNIT_MAIN("populator/sink/layer_writer", UNIT_TEST(test_a_disk_in_pieces),
          UNIT_TEST(test_more_or_less_than_was_said), UNIT_TEST(test_failures_are_passed_on))
