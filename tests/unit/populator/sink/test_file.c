/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "populator/sink/sink.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

static const struct sink_options options;

static struct sink *
open_sink(const char *url)
{
  struct sink *sink = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  REQUIRE(sink_open(url, &options, 1000, &sink, &err) == 0);
  return sink;
}

static void
append(struct sink *sink, const char *text)
{
  CHECK_NUMBER(sink->ops->append(sink, text, strlen(text), NULL), 0);
}

static void
test_a_file_appears_when_it_is_committed(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "disk.img", "before");
  CLEANUP(freep) char *path = temp_dir_path(dir, "disk.img");
  struct sink *sink = open_sink(path);
  CHECK_STRING(sink->label, path);
  append(sink, "abc");
  append(sink, "def");
  CLEANUP(freep) char *meanwhile = temp_dir_read(dir, "disk.img");
  CHECK_STRING(meanwhile, "before");
  CHECK_NUMBER(sink->ops->commit(sink, NULL), 0);
  sink->ops->close(sink);
  CLEANUP(freep) char *text = temp_dir_read(dir, "disk.img");
  CHECK_STRING(text, "abcdef");
  CLEANUP(freep) char *part = temp_dir_read(dir, "disk.img.imprint-part");
  CU_ASSERT_PTR_NULL(part);
}

static void
test_the_beginning_may_come_last_and_zeros_are_holes(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *path = temp_dir_path(dir, "disk 1.img");
  CLEANUP(freep) char *url = xasprintf("file://%s/disk%%201.img", dir);
  struct sink *sink = open_sink(url);
  CHECK_NUMBER(sink->start_align, 1);
  CHECK_NUMBER(sink->ops->reserve_start(sink, 6, NULL), 0);
  append(sink, "data");
  CHECK_NUMBER(sink->ops->append_zeros(sink, 1 << 20, NULL), 0);
  CHECK_NUMBER(sink->ops->write_start(sink, "tab", 3, NULL), 0);
  CHECK_NUMBER(sink->ops->write_start(sink, "les", 3, NULL), 0);
  CHECK_NUMBER(sink->ops->commit(sink, NULL), 0);
  sink->ops->close(sink);
  struct stat stat_buf;
  REQUIRE(stat(path, &stat_buf) == 0);
  CHECK_NUMBER(stat_buf.st_size, 10 + (1 << 20));
  CU_ASSERT(stat_buf.st_blocks * 512 < 1 << 18);
  CLEANUP(freep) char *text = temp_dir_read(dir, "disk 1.img"); /* up to the first zero */
  CHECK_STRING(text, "tablesdata");
}

static void
test_what_is_aborted_leaves_what_was_there(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "disk.img", "before");
  CLEANUP(freep) char *path = temp_dir_path(dir, "disk.img");
  struct sink *sink = open_sink(path);
  append(sink, "abc");
  sink->ops->abort(sink);
  sink->ops->close(sink);
  CLEANUP(freep) char *text = temp_dir_read(dir, "disk.img");
  CHECK_STRING(text, "before");
  CLEANUP(freep) char *part = temp_dir_read(dir, "disk.img.imprint-part");
  CU_ASSERT_PTR_NULL(part);
}

static void
test_what_a_killed_one_left_is_taken_over(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "disk.img.imprint-part", "much more than will be written now");
  CLEANUP(freep) char *path = temp_dir_path(dir, "disk.img");
  struct sink *sink = open_sink(path);
  append(sink, "abc");
  CHECK_NUMBER(sink->ops->commit(sink, NULL), 0);
  sink->ops->close(sink);
  CLEANUP(freep) char *text = temp_dir_read(dir, "disk.img");
  CHECK_STRING(text, "abc");
}

static void
test_two_do_not_write_one_file(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *path = temp_dir_path(dir, "disk.img");
  struct sink *first = open_sink(path);
  append(first, "abc");
  struct sink *second;
  struct error *err = NULL;
  CHECK_NUMBER(sink_open(path, &options, 0, &second, &err), -1);
  CHECK_ERROR(&err, ERROR_ABORTED, "is being written by another export");
  CHECK_NUMBER(first->ops->commit(first, NULL), 0);
  first->ops->close(first);
  CLEANUP(freep) char *text = temp_dir_read(dir, "disk.img");
  CHECK_STRING(text, "abc");
  struct sink *third = open_sink(path); /* a new file, not the one that has been renamed */
  third->ops->abort(third);
  third->ops->close(third);
  CLEANUP(freep) char *still = temp_dir_read(dir, "disk.img");
  CHECK_STRING(still, "abc");
}

static void
test_a_link_is_written_through(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "real", "before");
  CLEANUP(freep) char *link_path = temp_dir_path(dir, "link");
  REQUIRE(symlink("real", link_path) == 0);
  struct sink *sink = open_sink(link_path);
  append(sink, "abc");
  CHECK_NUMBER(sink->ops->commit(sink, NULL), 0);
  sink->ops->close(sink);
  CLEANUP(freep) char *text = temp_dir_read(dir, "real");
  CHECK_STRING(text, "abc");
  struct stat stat_buf;
  REQUIRE(lstat(link_path, &stat_buf) == 0);
  CU_ASSERT(S_ISLNK(stat_buf.st_mode));
}

struct reader {
  int fd;
  size_t len;
  char text[8];
};

static void *
read_all(void *arg)
{
  struct reader *reader = arg;
  char buf[4096];
  ssize_t got;
  while ((got = read(reader->fd, buf, sizeof(buf))) > 0) {
    if (reader->len == 0)
      memcpy(reader->text, buf, got < 7 ? (size_t)got : 7);
    reader->len += (size_t)got;
  }
  return NULL;
}

static void
test_a_fifo_gets_all_in_order(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *path = temp_dir_path(dir, "fifo");
  REQUIRE(mkfifo(path, 0600) == 0);
  struct reader reader = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  REQUIRE(reader.fd >= 0);
  struct sink *sink = open_sink(path);
  REQUIRE(fcntl(reader.fd, F_SETFL, 0) == 0);
  CU_ASSERT_PTR_NULL(sink->ops->reserve_start);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, read_all, &reader) == 0);
  append(sink, "abc");
  CHECK_NUMBER(sink->ops->append_zeros(sink, 300000, NULL), 0);
  append(sink, "def");
  CHECK_NUMBER(sink->ops->commit(sink, NULL), 0);
  sink->ops->close(sink);
  (void)pthread_join(thread, NULL);
  (void)close(reader.fd);
  CHECK_NUMBER(reader.len, 300006);
  CHECK_STRING(reader.text, "abc");
}

static void *
cancel_later(void *arg)
{
  struct sink *sink = arg;
  (void)poll(NULL, 0, 100);
  sink->ops->cancel(sink);
  return NULL;
}

static void
test_a_fifo_that_nobody_reads_can_be_left(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *path = temp_dir_path(dir, "fifo");
  REQUIRE(mkfifo(path, 0600) == 0);
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  REQUIRE(fd >= 0);
  struct sink *sink = open_sink(path);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, cancel_later, sink) == 0);
  struct error *err = NULL;
  CHECK_NUMBER(sink->ops->append_zeros(sink, 10 << 20, &err), -1);
  CHECK_ERROR(&err, ERROR_CANCELLED, "stopped");
  (void)pthread_join(thread, NULL);
  sink->ops->abort(sink);
  sink->ops->close(sink);
  struct stat stat_buf;
  CHECK_NUMBER(stat(path, &stat_buf), 0);
}

static void
test_a_descriptor_is_a_pipe(void)
{
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  CLEANUP(freep) char *url = xasprintf("fd:%d", ends[1]);
  struct sink *sink = open_sink(url);
  CU_ASSERT(sink->ops->reserve_start == NULL);
  CHECK_NUMBER(sink->ops->append(sink, "abc", 3, NULL), 0);
  CHECK_NUMBER(sink->ops->append_zeros(sink, 2, NULL), 0);
  CHECK_NUMBER(sink->ops->commit(sink, NULL), 0);
  sink->ops->close(sink);
  char got[16];
  CHECK_NUMBER(read(ends[0], got, sizeof(got)), 5);
  CU_ASSERT(memcmp(got, "abc\0\0", 5) == 0);
  CHECK_NUMBER(read(ends[0], got, sizeof(got)), 0);
  (void)close(ends[0]);
}

static void
test_what_is_no_place_for_a_file(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *missing = temp_dir_path(dir, "no/disk.img");
  const struct {
    const char *url;
    enum error_code code;
    const char *text;
  } rows[] = {
      {dir, ERROR_INVALID_ARGUMENT, "is a folder"},
      {missing, ERROR_NOT_FOUND, "No such file"},
      {"file://host/path", ERROR_INVALID_ARGUMENT, "file:///PATH"},
      {"file:", ERROR_INVALID_ARGUMENT, "file:///PATH"},
      {"gopher://x/y", ERROR_INVALID_ARGUMENT, "no destination of the kind 'gopher:'"},
      {"s3://bucket", ERROR_INVALID_ARGUMENT, "s3://BUCKET/KEY"},
      {"s3:///key", ERROR_INVALID_ARGUMENT, "s3://BUCKET/KEY"},
      {"fd:", ERROR_INVALID_ARGUMENT, "no descriptor"},
      {"fd:987", ERROR_INVALID_ARGUMENT, "no descriptor"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct sink *sink;
    struct error *err = NULL;
    CHECK_ROW(sink_open(rows[i].url, &options, 0, &sink, &err) == -1, rows[i].url);
    CHECK_ERROR(&err, rows[i].code, rows[i].text);
  }
}

UNIT_MAIN("populator/sink/file", UNIT_TEST(test_a_file_appears_when_it_is_committed),
          UNIT_TEST(test_the_beginning_may_come_last_and_zeros_are_holes),
          UNIT_TEST(test_what_is_aborted_leaves_what_was_there),
          UNIT_TEST(test_what_a_killed_one_left_is_taken_over),
          UNIT_TEST(test_two_do_not_write_one_file), UNIT_TEST(test_a_link_is_written_through),
          UNIT_TEST(test_a_fifo_gets_all_in_order),
          UNIT_TEST(test_a_fifo_that_nobody_reads_can_be_left),
          UNIT_TEST(test_a_descriptor_is_a_pipe), UNIT_TEST(test_what_is_no_place_for_a_file))
