/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/upload.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static uint64_t ready_at;
static unsigned ready_count;

static void
on_ready(uint64_t offset)
{
  ready_at = offset;
  ready_count++;
}

/* A source of so many bytes, of which those of the text are sent. */
static struct source *
upload_of(const char *sent, uint64_t size)
{
  const struct source_options options = {.on_ready = on_ready};
  struct source *source = NULL;
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  REQUIRE(write(ends[1], sent, strlen(sent)) == (ssize_t)strlen(sent));
  (void)close(ends[1]);
  CLEANUP(freep)
  char *url = xasprintf("upload:%d:%llu:one", ends[0], (unsigned long long)size);
  ready_count = 0;
  REQUIRE(source_open(url, &options, &source, NULL) == 0);
  return source;
}

static void
check_read(struct stream *stream, size_t len, const char *text)
{
  char buf[64] = "";
  CHECK_NUMBER(stream_read(stream, buf, len, NULL), (ssize_t)strlen(text));
  CHECK_STRING(buf, text);
}

static void
check_tail(const struct source *source, const char *text, uint64_t position)
{
  const char *bytes;
  size_t len;
  REQUIRE(upload_tail(source, &bytes, &len));
  REQUIRE(len == strlen(text) && (len == 0 || memcmp(bytes, text, len) == 0));
  CHECK_NUMBER(upload_position(source), position);
}

static void
test_the_end_of_the_pipe_is_a_pause(void)
{
  CLEANUP(source_closep) struct source *source = upload_of("hello", 9);
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  char buf[8];
  REQUIRE(source->ops->stream(source, 0, &stream, NULL) == 0);
  REQUIRE(ready_count == 1 && ready_at == 0);
  check_read(stream, 3, "hel");
  check_read(stream, 9, "lo");
  REQUIRE(!upload_is_paused(source));
  CHECK_NUMBER(stream_read(stream, buf, sizeof(buf), &err), -1);
  CHECK_ERROR(&err, ERROR_CANCELLED, "5 of the 9 bytes");
  REQUIRE(upload_is_paused(source));
  check_tail(source, "hello", 5);
}

static void
test_the_end_of_the_file_is_one(void)
{
  CLEANUP(source_closep) struct source *source = upload_of("hello, and more", 5);
  CLEANUP(stream_closep) struct stream *stream = NULL;
  REQUIRE(source->ops->stream(source, 0, &stream, NULL) == 0);
  check_read(stream, 20, "hello");
  check_read(stream, 20, "");
  REQUIRE(!upload_is_paused(source));
}

/* A state is taken, a little comes behind it, and another process goes on; it takes one amid what
 * it was left, and a third goes on from there. */
static void
test_a_state_and_its_tail_go_on_anywhere(void)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(source_closep) struct source *first = upload_of("abcdef", 10);
  CLEANUP(stream_closep) struct stream *stream = NULL;
  size_t used;
  REQUIRE(first->ops->stream(first, 0, &stream, NULL) == 0);
  check_read(stream, 2, "ab");
  REQUIRE(stream_save(stream, &state, NULL) == 0);
  upload_cut_tail(first);
  check_tail(first, "", 2);
  check_read(stream, 9, "cdef");
  check_tail(first, "cdef", 6);
  CHECK_NUMBER(upload_since_state(first), 4);

  CLEANUP(source_closep) struct source *second = upload_of("gh", 10);
  CLEANUP(stream_closep) struct stream *again = NULL;
  upload_put_tail(second, "cdef", 4);
  REQUIRE(second->ops->restore(second, state.data, state.len, &used, &again, NULL) == 0);
  REQUIRE(used == state.len && ready_count == 1 && ready_at == 6);
  check_read(again, 1, "c");
  state.len = 0;
  REQUIRE(stream_save(again, &state, NULL) == 0);
  upload_cut_tail(second);
  check_tail(second, "def", 6);
  check_read(again, 9, "def");
  check_read(again, 9, "gh");
  check_tail(second, "defgh", 8);

  CLEANUP(source_closep) struct source *third = upload_of("ij", 10);
  CLEANUP(stream_closep) struct stream *last = NULL;
  upload_put_tail(third, "defgh", 5);
  REQUIRE(third->ops->restore(third, state.data, state.len, &used, &last, NULL) == 0);
  CHECK_NUMBER(ready_at, 8);
  check_read(last, 9, "defgh");
  check_read(last, 9, "ij");
  check_read(last, 9, "");
}

static void
test_a_state_that_is_none(void)
{
  static const char *const states[] = {"", "upload", "upload\0\1\0\0",
                                       "other\0\0\0\0\0\0\0\0\0\0\0"};
  static const size_t lens[] = {0, 7, 10, 16};
  for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
    CLEANUP(source_closep) struct source *source = upload_of("", 10);
    CLEANUP(error_freep) struct error *err = NULL;
    struct stream *stream;
    size_t used;
    CHECK_NUMBER(source->ops->restore(source, states[i], lens[i], &used, &stream, &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "saved state");
  }
  CLEANUP(source_closep) struct source *source = upload_of("", 10);
  CLEANUP(error_freep) struct error *err = NULL;
  struct stream *stream;
  upload_put_tail(source, "too long a tail", 15);
  CHECK_NUMBER(source->ops->stream(source, 0, &stream, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "saved state");
}

static void
test_urls(void)
{
  static const char *const wrong[] = {"upload:",        "upload:0",     "upload:0:5",
                                      "upload:0:5:",    "upload:0:0:x", "upload:x:5:one",
                                      "upload:0:-5:one"};
  const struct source_options options = {0};
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct source *source = NULL;
    CHECK_NUMBER(source_open(wrong[i], &options, &source, &err), -1);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "upload:FD:SIZE:NAME");
  }
  CLEANUP(source_closep) struct source *source = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  struct stream *stream;
  REQUIRE(source_open("upload:-:5:one", &options, &source, NULL) == 0);
  REQUIRE(source_is_upload(source) && source->size == 5);
  CHECK_STRING(source->identity, "one");
  CHECK_NUMBER(source->ops->stream(source, 0, &stream, &err), -1);
  CHECK_ERROR(&err, ERROR_FAILED_PRECONDITION, "upload it anew");
}

UNIT_MAIN("populator/source/upload", UNIT_TEST(test_the_end_of_the_pipe_is_a_pause),
          UNIT_TEST(test_the_end_of_the_file_is_one),
          UNIT_TEST(test_a_state_and_its_tail_go_on_anywhere), UNIT_TEST(test_a_state_that_is_none),
          UNIT_TEST(test_urls))
