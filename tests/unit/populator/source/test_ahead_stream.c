/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/ahead_stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

/* Long enough for a thread. */
#define LONG_BYTES ((uint64_t)24 << 20)

/* Numbers counted up, byte by byte, up to `size`; then the end, or a failure. */
struct counting_stream {
  struct stream stream;
  uint64_t size;
  uint64_t position;
  size_t piece; /* a read gives no more */
  bool fails;
  atomic_uint inside; /* threads that read: never two */
  atomic_bool was_crowded;
  atomic_bool is_closed;
};

static unsigned char
byte_at(uint64_t position)
{
  return (unsigned char)(position ^ (position >> 8) ^ (position >> 16));
}

static ssize_t
counting_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct counting_stream *counting = (struct counting_stream *)stream;
  if (atomic_fetch_add(&counting->inside, 1) > 0)
    atomic_store(&counting->was_crowded, true);
  uint64_t left = counting->size - counting->position;
  size_t n = len < counting->piece ? len : counting->piece;
  if (n > left)
    n = (size_t)left;
  for (size_t i = 0; i < n; i++)
    ((unsigned char *)buf)[i] = byte_at(counting->position + i);
  counting->position += n;
  atomic_fetch_sub(&counting->inside, 1);
  if (n == 0 && counting->fails)
    return error_set(err, ERROR_UNAVAILABLE, "the line is cut");
  return (ssize_t)n;
}

static int
counting_save(struct stream *stream, struct buffer *state, struct error **err)
{
  (void)err;
  buffer_append_u64(state, ((struct counting_stream *)stream)->position);
  return 0;
}

static void
counting_close(struct stream *stream)
{
  atomic_store(&((struct counting_stream *)stream)->is_closed, true);
}

static const struct stream_ops counting_ops = {
    .name = "counting", .read = counting_read, .save = counting_save, .close = counting_close};

static struct counting_stream
counting(uint64_t size, size_t piece)
{
  return (struct counting_stream){.stream.ops = &counting_ops, .size = size, .piece = piece};
}

/* Reads up to `until` in pieces and compares. */
static void
check_bytes(struct stream *stream, uint64_t *at, uint64_t until, size_t piece)
{
  CLEANUP(freep) unsigned char *buf = xcalloc(1, piece);
  while (*at < until) {
    uint64_t left = until - *at;
    struct error *err = NULL;
    ssize_t n = stream_read(stream, buf, left < piece ? (size_t)left : piece, &err);
    REQUIRE(n > 0);
    size_t wrong = 0;
    for (ssize_t i = 0; i < n; i++)
      wrong += buf[i] != byte_at(*at + (uint64_t)i);
    CHECK_NUMBER(wrong, 0);
    *at += (uint64_t)n;
  }
}

static void
test_all_bytes_come_in_order(void)
{
  static const size_t pieces[][2] = {{1 << 20, 100000}, {1000, 64 << 10}, {300000, 1 << 20}};
  for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
    struct counting_stream below = counting(LONG_BYTES + 77, pieces[i][0]);
    struct stream *stream = ahead_stream_new(&below.stream);
    uint64_t at = 0;
    char end;
    check_bytes(stream, &at, below.size, pieces[i][1]);
    CHECK_NUMBER(stream_read(stream, &end, 1, NULL), 0);
    CHECK_NUMBER(stream_read(stream, &end, 1, NULL), 0);
    stream_close(stream);
    CU_ASSERT(atomic_load(&below.is_closed));
    CU_ASSERT_FALSE(atomic_load(&below.was_crowded));
  }
}

static void
test_a_short_look_reads_nothing_ahead(void)
{
  struct counting_stream below = counting(LONG_BYTES, 64 << 10);
  struct stream *stream = ahead_stream_new(&below.stream);
  uint64_t at = 0;
  check_bytes(stream, &at, 1 << 20, 64 << 10);
  CHECK_NUMBER(below.position, 1 << 20);
  struct buffer state = {0};
  CHECK_NUMBER(stream_save(stream, &state, NULL), 0);
  buffer_clear(&state);
  stream_close(stream);
}

static void
test_no_more_is_read_ahead_than_allowed(void)
{
  struct counting_stream below = counting(LONG_BYTES, 1 << 20);
  struct stream *stream = ahead_stream_new(&below.stream);
  uint64_t at = 0;
  check_bytes(stream, &at, 5 << 20, 64 << 10);
  (void)nanosleep(&(struct timespec){.tv_nsec = 50L * 1000000}, NULL);
  ahead_stream_stop(stream);
  CU_ASSERT(below.position > at);
  CU_ASSERT(below.position <= at + AHEAD_STREAM_BYTES);
  stream_close(stream);
}

/* Goes on in another stream, as another process would. */
static struct stream *
go_on(struct stream *stream, struct counting_stream *other)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  size_t used, head = sizeof("counting") + 8 + sizeof(AHEAD_STREAM_NAME);
  struct stream *restored = NULL;
  CHECK_NUMBER(stream_save(stream, &state, NULL), 0);
  REQUIRE(state.len >= head + 8);
  memcpy(&other->position, state.data + sizeof("counting"), 8);
  REQUIRE(ahead_stream_restore(&other->stream, state.data + head, state.len - head, &used,
                               &restored, NULL) == 0);
  CHECK_NUMBER(used, state.len - head);
  return restored;
}

static void
test_another_process_goes_on_where_it_was(void)
{
  static const uint64_t places[] = {0, 100, 5 << 20, (9 << 20) + 12345, LONG_BYTES - 1};
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
    struct counting_stream below = counting(LONG_BYTES, 50000);
    struct counting_stream other = counting(LONG_BYTES, 70000);
    struct stream *stream = ahead_stream_new(&below.stream);
    uint64_t at = 0;
    check_bytes(stream, &at, places[i], 10000);
    uint64_t other_at = at;
    struct stream *second = go_on(stream, &other);
    check_bytes(stream, &at, LONG_BYTES, 10000); /* the first one does too */
    struct counting_stream third = counting(LONG_BYTES, 70000);
    struct stream *at_once = go_on(second, &third); /* nothing of it has been read yet */
    uint64_t third_at = other_at;
    check_bytes(second, &other_at, LONG_BYTES, 30000);
    check_bytes(at_once, &third_at, LONG_BYTES, 30000);
    CU_ASSERT_FALSE(atomic_load(&below.was_crowded) || atomic_load(&other.was_crowded));
    stream_close(stream);
    stream_close(second);
    stream_close(at_once);
  }
}

static void
test_it_can_be_saved_again_and_again(void)
{
  struct counting_stream below = counting(LONG_BYTES, 50000);
  struct stream *stream = ahead_stream_new(&below.stream);
  uint64_t at = 0;
  while (at + 100000 < LONG_BYTES) {
    CLEANUP(buffer_clear) struct buffer state = {0};
    check_bytes(stream, &at, at + 100000, 10000);
    CHECK_NUMBER(stream_save(stream, &state, NULL), 0);
    uint64_t below_at;
    memcpy(&below_at, state.data + sizeof("counting"), 8);
    size_t head = sizeof("counting") + 8 + sizeof(AHEAD_STREAM_NAME) + 8;
    CHECK_NUMBER(below_at - (state.len - head), at);
  }
  CU_ASSERT_FALSE(atomic_load(&below.was_crowded));
  stream_close(stream);
}

static void
test_broken_states_are_refused(void)
{
  static const char states[][10] = {"", "\1\0\0\0\0\0\0\0", "\0\0\0\1\0\0\0\0", "\377\377"};
  static const size_t lens[] = {0, 8, 9, 2};
  for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
    struct counting_stream below = counting(10, 10);
    struct stream *stream = NULL;
    size_t used;
    struct error *err = NULL;
    CHECK_NUMBER(ahead_stream_restore(&below.stream, states[i], lens[i], &used, &stream, &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "is not one");
    CU_ASSERT(atomic_load(&below.is_closed));
  }
}

static void
test_a_failure_comes_behind_what_was_read(void)
{
  struct counting_stream below = counting(LONG_BYTES, 1 << 20);
  below.fails = true;
  struct stream *stream = ahead_stream_new(&below.stream);
  uint64_t at = 0;
  check_bytes(stream, &at, LONG_BYTES, 1 << 20);
  for (unsigned i = 0; i < 2; i++) {
    char none;
    struct error *err = NULL;
    CHECK_NUMBER(stream_read(stream, &none, 1, &err), -1);
    CHECK_ERROR(&err, ERROR_UNAVAILABLE, "the line is cut");
  }
  stream_close(stream);
}

static void
test_stopped_it_leaves_the_rest_below(void)
{
  struct counting_stream below = counting(LONG_BYTES, 1 << 20);
  struct stream *stream = ahead_stream_new(&below.stream);
  uint64_t at = 0;
  check_bytes(stream, &at, 6 << 20, 1 << 20);
  ahead_stream_stop(stream);
  uint64_t rest = below.position;
  check_bytes(&below.stream, &rest, LONG_BYTES, 1 << 20);
  stream_close(stream);
  CU_ASSERT_FALSE(atomic_load(&below.was_crowded));
}

UNIT_MAIN("populator/source/ahead_stream", UNIT_TEST(test_all_bytes_come_in_order),
          UNIT_TEST(test_a_short_look_reads_nothing_ahead),
          UNIT_TEST(test_no_more_is_read_ahead_than_allowed),
          UNIT_TEST(test_another_process_goes_on_where_it_was),
          UNIT_TEST(test_it_can_be_saved_again_and_again),
          UNIT_TEST(test_broken_states_are_refused),
          UNIT_TEST(test_a_failure_comes_behind_what_was_read),
          UNIT_TEST(test_stopped_it_leaves_the_rest_below))
