/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "populator/source/source.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

static const struct source_options options;

static struct source *
open_path(const char *path)
{
  struct source *source = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  REQUIRE(source_open(path, &options, &source, &err) == 0);
  return source;
}

static void
test_a_file_is_read_anywhere(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "disk.img", "0123456789");
  CLEANUP(freep) char *path = temp_dir_path(dir, "disk.img");
  CLEANUP(source_closep) struct source *source = open_path(path);
  CU_ASSERT(source->can_seek && source->can_resume);
  CHECK_NUMBER(source->size, 10);
  CHECK_STRING(source->label, path);
  REQUIRE(source->identity != NULL);
  CU_ASSERT(strncmp(source->identity, "file:", 5) == 0);
  char buf[5] = "";
  CHECK_NUMBER(source->ops->read_at(source, buf, 4, 6, NULL), 0);
  CHECK_STRING(buf, "6789");
  CHECK_NUMBER(source->ops->read_at(source, buf, 4, 0, NULL), 0);
  CHECK_STRING(buf, "0123");
}

static void
test_a_stream_begins_anywhere_and_can_be_saved(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "disk.img", "0123456789");
  CLEANUP(freep) char *path = temp_dir_path(dir, "disk.img");
  CLEANUP(source_closep) struct source *source = open_path(path);
  CLEANUP(stream_closep) struct stream *stream = NULL;
  REQUIRE(source->ops->stream(source, 3, &stream, NULL) == 0);
  char buf[16] = "";
  CHECK_NUMBER(stream_read(stream, buf, 2, NULL), 2);
  CHECK_STRING(buf, "34");
  CU_ASSERT(stream_can_save(stream));
  struct buffer state = {0};
  CHECK_NUMBER(stream_save(stream, &state, NULL), 0);
  CHECK_NUMBER(state.len, 5 + 8);
  CU_ASSERT(memcmp(state.data, "file\0\5\0\0\0\0\0\0\0", 13) == 0);
  buffer_clear(&state);
  CHECK_NUMBER(stream_read(stream, buf, sizeof(buf), NULL), 5);
  CHECK_NUMBER(stream_read(stream, buf, sizeof(buf), NULL), 0);
}

static void
test_urls_name_paths(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "a b%c", "x");
  static const char *const forms[] = {"file://%s/a%%20b%%25c", "file://localhost%s/a%%20b%%25c",
                                      "FILE:%s/a%%20b%%25c", "%s/a b%%c"};
  for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
    char url[512];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(url, sizeof(url), forms[i], dir);
#pragma GCC diagnostic pop
    CLEANUP(source_closep) struct source *source = open_path(url);
    CHECK_NUMBER(source->size, 1);
  }
}

static void
test_what_is_no_file_is_refused(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *missing = temp_dir_path(dir, "missing");
  const struct {
    const char *url;
    enum error_code code;
    const char *text;
  } rows[] = {
      {dir, ERROR_INVALID_ARGUMENT, "is a folder"},
      {missing, ERROR_NOT_FOUND, "missing"},
      {"file://elsewhere/x", ERROR_INVALID_ARGUMENT, "another host"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct source *source = NULL;
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(source_open(rows[i].url, &options, &source, &err) == -1, rows[i].url);
    CHECK_ERROR(&err, rows[i].code, rows[i].text);
  }
}

static void
test_a_file_that_changes_is_noticed(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "disk.img", "0123456789");
  CLEANUP(freep) char *path = temp_dir_path(dir, "disk.img");
  CLEANUP(source_closep) struct source *source = open_path(path);
  CLEANUP(stream_closep) struct stream *stream = NULL;
  REQUIRE(source->ops->stream(source, 0, &stream, NULL) == 0);
  struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
  CHECK_NUMBER(utimensat(AT_FDCWD, path, times, 0), 0);
  CLEANUP(error_freep) struct error *err = NULL;
  char buf[10];
  CHECK_NUMBER(source->ops->read_at(source, buf, 10, 0, &err), -1);
  CHECK_ERROR(&err, ERROR_FAILED_PRECONDITION, "changed while it was read");
  CHECK_NUMBER(stream_read(stream, buf, 10, &err), -1);
  CHECK_ERROR(&err, ERROR_FAILED_PRECONDITION, "changed while it was read");
  CHECK_NUMBER(truncate(path, 5), 0);
  CHECK_NUMBER(source->ops->read_at(source, buf, 10, 0, &err), -1);
  CHECK_ERROR(&err, ERROR_FAILED_PRECONDITION, "changed while it was read");
}

static void
test_another_file_has_another_identity(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *path = temp_dir_path(dir, "disk.img");
  temp_dir_write(dir, "disk.img", "0123456789");
  CLEANUP(source_closep) struct source *one = open_path(path);
  CLEANUP(source_closep) struct source *same = open_path(path);
  CHECK_STRING(one->identity, same->identity);
  temp_dir_write(dir, "disk.img", "9876543210");
  CLEANUP(source_closep) struct source *other = open_path(path);
  CU_ASSERT_STRING_NOT_EQUAL(one->identity, other->identity);
}

static void
test_a_pipe_is_read_once(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *path = temp_dir_path(dir, "pipe");
  REQUIRE(mkfifo(path, 0600) == 0);
  CLEANUP(closep) int writer = open(path, O_RDWR | O_CLOEXEC);
  REQUIRE(writer >= 0);
  REQUIRE(write(writer, "0123456789", 10) == 10);
  CLEANUP(source_closep) struct source *source = open_path(path);
  CU_ASSERT(source->size == SOURCE_SIZE_UNKNOWN);
  CU_ASSERT_FALSE(source->can_seek || source->can_resume);
  CHECK_STRING(source->identity, NULL);
  CLEANUP(stream_closep) struct stream *stream = NULL;
  REQUIRE(source->ops->stream(source, 0, &stream, NULL) == 0);
  CU_ASSERT_FALSE(stream_can_save(stream));
  char buf[16] = "";
  CHECK_NUMBER(stream_read_full(stream, buf, 10, NULL), 0);
  CHECK_STRING(buf, "0123456789");
}

/* One MiB at 2 MiB, one at the end; holes around them. */
static void
test_holes_are_told(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *path = temp_dir_path(dir, "disk.img");
  CLEANUP(closep) int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  CLEANUP(freep) char *mib = xcalloc(1, 1 << 20);
  memset(mib, 'x', 1 << 20);
  REQUIRE(fd >= 0 && pwrite(fd, mib, 1 << 20, 2 << 20) == 1 << 20);
  REQUIRE(pwrite(fd, mib, 1 << 20, 7 << 20) == 1 << 20);
  static const uint64_t rows[][3] = {{0, 2, 3}, {2, 2, 3}, {3, 7, 8}, {7, 7, 8}};
  {
    CLEANUP(source_closep) struct source *source = open_path(path);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
      uint64_t start, end;
      REQUIRE(source->ops->data_range(source, rows[i][0] << 20, &start, &end, NULL) == 0);
      CHECK_NUMBER(start, rows[i][1] << 20);
      CHECK_NUMBER(end, rows[i][2] << 20);
    }
  }
  REQUIRE(ftruncate(fd, 20 << 20) == 0);
  CLEANUP(source_closep) struct source *source = open_path(path);
  uint64_t start, end;
  REQUIRE(source->ops->data_range(source, 8 << 20, &start, &end, NULL) == 0);
  CHECK_NUMBER(start, 20 << 20);
  CHECK_NUMBER(end, 20 << 20);
  REQUIRE(ftruncate(fd, 30 << 20) == 0);
  struct error *err = NULL;
  CHECK_NUMBER(source->ops->data_range(source, 0, &start, &end, &err), -1);
  CHECK_ERROR(&err, ERROR_FAILED_PRECONDITION, "changed while it was read");
}

static void
test_a_descriptor_is_a_file_under_its_name(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "disk.img", "0123456789");
  CLEANUP(freep) char *path = temp_dir_path(dir, "disk.img");
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  CLEANUP(freep) char *url = xasprintf("fd:%d:/a:b", fd);
  CLEANUP(source_closep) struct source *source = open_path(url);
  CHECK_STRING(source->label, "/a:b");
  CU_ASSERT(source->can_seek && source->identity);
  char buf[5] = "";
  CHECK_NUMBER(source->ops->read_at(source, buf, 4, 6, NULL), 0);
  CHECK_STRING(buf, "6789");
  static const char *const bad[] = {"fd:", "fd:3", "fd::x", "fd:x:y", "fd:99999999999:y"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    struct source *none;
    struct error *err = NULL;
    CHECK_ROW(source_open(bad[i], &options, &none, &err) == -1, bad[i]);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "fd:NUMBER:NAME");
  }
}

UNIT_MAIN("populator/source/file", UNIT_TEST(test_a_file_is_read_anywhere),
          UNIT_TEST(test_a_stream_begins_anywhere_and_can_be_saved),
          UNIT_TEST(test_urls_name_paths), UNIT_TEST(test_what_is_no_file_is_refused),
          UNIT_TEST(test_a_file_that_changes_is_noticed),
          UNIT_TEST(test_another_file_has_another_identity), UNIT_TEST(test_a_pipe_is_read_once),
          UNIT_TEST(test_holes_are_told), UNIT_TEST(test_a_descriptor_is_a_file_under_its_name))
