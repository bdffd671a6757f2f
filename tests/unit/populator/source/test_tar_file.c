/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/tar_file.h"

#include <fcntl.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/populator/byte_stream.h"
#include "tests/unit/populator/tar_builder.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

/* Writes the archive to a file and opens that. */
static int
open_written(const char *dir, const struct buffer *archive, struct tar_file **ret_file,
             struct error **err)
{
  CLEANUP(freep) char *path = temp_dir_path(dir, "archive.tar");
  CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(write(fd, archive->data, archive->len) == (ssize_t)archive->len);
  return tar_file_open(path, ret_file, err);
}

static void
make_archive(struct buffer *archive)
{
  tar_build(archive, '5', "blobs", NULL, NULL);
  tar_build(archive, '0', "./blobs/b", NULL, "old content");
  tar_build(archive, '2', "link", "blobs/b", NULL);
  tar_build(archive, '1', "hard", "link", NULL);
  tar_build(archive, '2', "loop", "loop", NULL);
  tar_build(archive, '2', "dangling", "nowhere", NULL);
  tar_build(archive, '0', "blobs/a", NULL, "content of a");
  tar_build(archive, '0', "blobs/b", NULL, "content of b");
  tar_build_end(archive);
}

static void
test_files_are_found_by_name(void)
{
  static const struct {
    const char *path;
    const char *content;
  } rows[] = {
      {"blobs/a", "content of a"}, {"/blobs//./a", "content of a"}, {"blobs/b", "content of b"},
      {"link", "content of b"},    {"hard", "content of b"},
  };
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(buffer_clear) struct buffer archive = {0};
  CLEANUP(tar_file_closep) struct tar_file *file = NULL;
  make_archive(&archive);
  REQUIRE(open_written(dir, &archive, &file, NULL) == 0);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(buffer_clear) struct buffer content = {0};
    const struct tar_file_entry *entry = tar_file_find(file, rows[i].path);
    REQUIRE(entry);
    REQUIRE(tar_file_read(file, entry, 100, &content, NULL) == 0);
    CHECK_STRING(content.data, rows[i].content);
  }
  static const char *const none[] = {"", "blobs", "blobs/c", "loop", "dangling", "zz"};
  for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
    CHECK_ROW(!tar_file_find(file, none[i]), none[i]);
}

static void
test_parts_are_read(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(buffer_clear) struct buffer archive = {0};
  CLEANUP(tar_file_closep) struct tar_file *file = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  make_archive(&archive);
  REQUIRE(open_written(dir, &archive, &file, NULL) == 0);
  const struct tar_file_entry *entry = tar_file_find(file, "blobs/a");
  REQUIRE(entry);
  char part[3] = {0};
  CHECK_NUMBER(tar_file_read_at(file, entry, part, 2, 8, NULL), 0);
  CHECK_STRING(part, "of");
  struct buffer content = {0};
  CHECK_NUMBER(tar_file_read(file, entry, 11, &content, &err), -1);
  CHECK_ERROR(&err, ERROR_RESOURCE_EXHAUSTED, "larger than 11 bytes");
}

static void
test_streams_are_read_from_anywhere(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(buffer_clear) struct buffer archive = {0};
  CLEANUP(tar_file_closep) struct tar_file *file = NULL;
  make_archive(&archive);
  REQUIRE(open_written(dir, &archive, &file, NULL) == 0);
  const struct tar_file_entry *entry = tar_file_find(file, "blobs/a");
  REQUIRE(entry);
  for (size_t offset = 0; offset <= 12; offset++) {
    CLEANUP(stream_closep) struct stream *stream = tar_file_stream(file, entry, "blob", offset);
    CLEANUP(buffer_clear) struct buffer content = {0};
    REQUIRE(byte_stream_drain(stream, &content, NULL) == 0);
    CHECK_STRING(offset < 12 ? content.data : "", &"content of a"[offset]);
    CLEANUP(buffer_clear) struct buffer state = {0};
    REQUIRE(stream_save(stream, &state, NULL) == 0);
    CHECK_NUMBER(state.len, sizeof("blob") + 8);
    CHECK_STRING(state.data, "blob");
    CHECK_NUMBER(state.data[sizeof("blob")], 12);
  }
}

static void
test_streams_can_skip(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(buffer_clear) struct buffer archive = {0};
  CLEANUP(tar_file_closep) struct tar_file *file = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  make_archive(&archive);
  REQUIRE(open_written(dir, &archive, &file, NULL) == 0);
  CLEANUP(stream_closep)
  struct stream *stream = tar_file_stream(file, tar_file_find(file, "blobs/a"), "blob", 0);
  CHECK_NUMBER(stream_skip(stream, 8, NULL), 0);
  char part[8] = {0};
  CHECK_NUMBER(stream_read(stream, part, 2, NULL), 2);
  CHECK_STRING(part, "of");
  CHECK_NUMBER(stream_skip(stream, 3, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "cut off");
}

static void
test_archives_that_cannot_be_read(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(buffer_clear) struct buffer archive = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  struct tar_file *file = NULL;
  CLEANUP(freep) char *missing = temp_dir_path(dir, "missing.tar");
  CHECK_NUMBER(tar_file_open(missing, &file, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "missing.tar");
  CHECK_NUMBER(tar_file_open(dir, &file, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "is not a file");
  make_archive(&archive);
  archive.len -= 1024 + 500; /* amid the last file */
  CHECK_NUMBER(open_written(dir, &archive, &file, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "cut off");
  CHECK_NUMBER(byte_streams_open(), 0);
}

UNIT_MAIN("populator/source/tar_file", UNIT_TEST(test_files_are_found_by_name),
          UNIT_TEST(test_parts_are_read), UNIT_TEST(test_streams_are_read_from_anywhere),
          UNIT_TEST(test_streams_can_skip), UNIT_TEST(test_archives_that_cannot_be_read))
