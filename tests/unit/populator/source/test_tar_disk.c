/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/tar_disk.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/populator/byte_stream.h"
#include "tests/unit/populator/tar_builder.h"
#include "tests/unit/unit.h"

static int
open_disk(const struct buffer *archive, const char *path, struct stream **ret_stream,
          struct error **err)
{
  uint64_t size;
  struct stream *below = byte_stream_new(archive->data, archive->len, 0, 10);
  if (tar_disk_stream_new(below, path, ret_stream, &size, err) < 0)
    return -1;
  CHECK_NUMBER(size, 11);
  return 0;
}

static void
test_the_only_file(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  CLEANUP(buffer_clear) struct buffer content = {0};
  CLEANUP(stream_closep) struct stream *stream = NULL;
  tar_build(&archive, '5', "a", NULL, NULL);
  tar_build(&archive, '0', "a/disk.raw", NULL, "hello world");
  tar_build_end(&archive);
  REQUIRE(open_disk(&archive, NULL, &stream, NULL) == 0);
  REQUIRE(byte_stream_drain(stream, &content, NULL) == 0);
  CHECK_STRING(content.data, "hello world");
  stream_close(TAKE(stream));
  CHECK_NUMBER(byte_streams_open(), 0);
}

static void
test_one_of_several(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  CLEANUP(buffer_clear) struct buffer content = {0};
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CLEANUP(stream_closep) struct stream *other = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  tar_build(&archive, '0', "a", NULL, "hello world");
  tar_build(&archive, '0', "b", NULL, "hello there");
  REQUIRE(open_disk(&archive, "/b", &stream, NULL) == 0);
  REQUIRE(byte_stream_drain(stream, &content, NULL) == 0);
  CHECK_STRING(content.data, "hello there");
  REQUIRE(open_disk(&archive, NULL, &other, NULL) == 0);
  CHECK_NUMBER(byte_stream_drain(other, &content, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "several files");
}

static void
test_archives_without_a_disk(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  struct stream *stream = NULL;
  CHECK_NUMBER(open_disk(&archive, NULL, &stream, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "no file");
  tar_build(&archive, '2', "a", "b", NULL);
  CHECK_NUMBER(open_disk(&archive, NULL, &stream, &err), -1);
  CHECK_ERROR(&err, ERROR_UNIMPLEMENTED, "links");
  CHECK_NUMBER(byte_streams_open(), 0);
}

static void
test_another_process_goes_on(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build(&archive, '0', "x/y", NULL, "hello world");
  tar_build_end(&archive);
  for (size_t read = 0; read <= 11; read++) {
    CLEANUP(stream_closep) struct stream *first = NULL;
    CLEANUP(stream_closep) struct stream *second = NULL;
    CLEANUP(buffer_clear) struct buffer state = {0};
    char content[12] = {0};
    size_t used;
    REQUIRE(open_disk(&archive, NULL, &first, NULL) == 0);
    CHECK_NUMBER(stream_read_most(first, content, read, NULL), read);
    REQUIRE(first->ops->save(first, &state, NULL) == 0);
    (void)buffer_append_text(&state, "what others have saved");
    size_t position = read < 11 ? 512 + read : archive.len;
    struct stream *below = byte_stream_new(archive.data, archive.len, position, 0);
    REQUIRE(tar_disk_stream_restore(below, state.data, state.len, &used, &second, NULL) == 0);
    CHECK_STRING(state.data + used, "what others have saved");
    CHECK_NUMBER(stream_read_most(second, content + read, 12, NULL), 11 - read);
    CHECK_STRING(content, "hello world");
  }
  CHECK_NUMBER(byte_streams_open(), 0);
}

static void
test_a_state_that_is_none(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(stream_closep) struct stream *first = NULL;
  tar_build(&archive, '0', "x/y", NULL, "hello world");
  REQUIRE(open_disk(&archive, NULL, &first, NULL) == 0);
  REQUIRE(first->ops->save(first, &state, NULL) == 0);
  for (size_t len = 0; len < state.len; len++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct stream *second;
    size_t used;
    CHECK_NUMBER(tar_disk_stream_restore(byte_stream_new("", 0, 0, 0), state.data, len, &used,
                                         &second, &err),
                 -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "saved state");
  }
  stream_close(TAKE(first));
  CHECK_NUMBER(byte_streams_open(), 0);
}

UNIT_MAIN("populator/source/tar_disk", UNIT_TEST(test_the_only_file),
          UNIT_TEST(test_one_of_several), UNIT_TEST(test_archives_without_a_disk),
          UNIT_TEST(test_another_process_goes_on), UNIT_TEST(test_a_state_that_is_none))
