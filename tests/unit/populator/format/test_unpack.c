/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/unpack.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/peek.h"
#include "tests/format/memory_stream.h"
#include "tests/format/pack.h"
#include "tests/unit/unit.h"

#define DATA_LEN ((size_t)200000)

static char data[DATA_LEN], buf[DATA_LEN + 1];

static void
test_a_look_loses_nothing(void)
{
  static const size_t lengths[] = {0, 1, PROBE_BYTES - 1, PROBE_BYTES, PROBE_BYTES + 1, DATA_LEN};
  pack_fill(data, DATA_LEN, 1);
  for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
    CLEANUP(stream_closep) struct stream *stream = NULL;
    struct probe probe;
    REQUIRE(peek_stream_new(memory_stream_new(data, lengths[i], 0, 1000), &stream, &probe, NULL) ==
            0);
    CHECK_NUMBER(probe.format, PROBE_RAW);
    CHECK_NUMBER(stream_read_most(stream, buf, sizeof(buf), NULL), lengths[i]);
    CU_ASSERT(memcmp(buf, data, lengths[i]) == 0);
  }
}

static void
test_a_look_reports_errors_below(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct stream *below = memory_stream_new(data, DATA_LEN, 0, 0), *stream = NULL;
  struct probe probe;
  memory_stream_fail_at(below, 100);
  CHECK_NUMBER(peek_stream_new(below, &stream, &probe, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "connection lost");
}

static void
test_compressions_come_off(void)
{
  pack_fill(data, DATA_LEN, 2);
  memcpy(data, "QFI\xfb\0\0\0\3", 8);
  CLEANUP(buffer_clear) struct buffer packed = {0};
  (void)buffer_append(&packed, data, DATA_LEN);
  for (unsigned layers = 0; layers <= UNPACK_LAYERS_MAX + 1; layers++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(stream_closep) struct stream *stream = NULL;
    struct probe probe = {0};
    int r =
        unpack_stream_new(memory_stream_new(packed.data, packed.len, 0, 0), &stream, &probe, &err);
    if (layers > UNPACK_LAYERS_MAX) {
      CHECK_NUMBER(r, -1);
      CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "3 times");
      break;
    }
    REQUIRE(r == 0);
    CHECK_NUMBER(probe.format, PROBE_QCOW2);
    CU_ASSERT(stream_can_save(stream));
    CHECK_NUMBER(stream_read_most(stream, buf, sizeof(buf), NULL), DATA_LEN);
    CU_ASSERT(memcmp(buf, data, DATA_LEN) == 0);
    CLEANUP(buffer_clear) struct buffer again = {0};
    pack_gzip(&again, packed.data, packed.len, PACK_STORED, 0);
    struct buffer swap = packed;
    packed = again;
    again = swap;
  }
}

/* A frame of one block that is not compressed, for a window of so many bytes (a power of two). */
static void
wrap_zstd(struct buffer *frame, const void *bytes, size_t len, unsigned window_log)
{
  const unsigned block = (unsigned)len << 3 | 1;
  const unsigned char head[] = {0x28,
                                0xb5,
                                0x2f,
                                0xfd,
                                0,
                                (unsigned char)((window_log - 10) << 3),
                                (unsigned char)block,
                                (unsigned char)(block >> 8),
                                (unsigned char)(block >> 16)};
  (void)buffer_append(frame, head, sizeof(head));
  (void)buffer_append(frame, bytes, len);
}

static void
test_compressions_around_each_other_share_their_memory(void)
{
  static const struct {
    unsigned inner, outer;
    bool is_fine;
  } rows[] = {{27, 21, true}, {21, 27, true}, {23, 26, true}, {26, 27, false}, {27, 27, false}};
  pack_fill(data, 5000, 4);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(stream_closep) struct stream *stream = NULL;
    CLEANUP(buffer_clear) struct buffer inner = {0};
    CLEANUP(buffer_clear) struct buffer outer = {0};
    struct probe probe;
    wrap_zstd(&inner, data, 5000, rows[i].inner);
    wrap_zstd(&outer, inner.data, inner.len, rows[i].outer);
    int r =
        unpack_stream_new(memory_stream_new(outer.data, outer.len, 0, 0), &stream, &probe, &err);
    CHECK_NUMBER(r, rows[i].is_fine ? 0 : -1);
    if (r < 0)
      CHECK_ERROR(&err, ERROR_RESOURCE_EXHAUSTED, "together");
    else
      CHECK_NUMBER(stream_read_most(stream, buf, sizeof(buf), NULL), 5000);
  }
}

static void
test_what_only_claims_to_be_compressed_is_refused(void)
{
  static const struct {
    const char *bytes;
    size_t len;
    const char *text;
  } rows[] = {
      {"\x1f\x8bnot at all", 12, "gzip: "},
      {"\xfd\x37zXZ\0nor that", 14, "xz: "},
      {"\x28\xb5\x2f\xfdnor this", 12, "zstd: "},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct stream *stream = NULL;
    struct probe probe;
    CHECK_NUMBER(unpack_stream_new(memory_stream_new(rows[i].bytes, rows[i].len, 0, 0), &stream,
                                   &probe, &err),
                 -1);
    REQUIRE(err != NULL);
    CHECK_ROW(strstr(err->message, rows[i].text) != NULL, err->message);
  }
}

/* Puts the stack together again that a state describes. */
static struct stream *
restore(const struct buffer *state, const struct buffer *packed)
{
  CLEANUP(error_freep) struct error *err = NULL;
  const char *at = state->data, *end = state->data + state->len;
  uint64_t offset;
  CHECK_STRING(at, "memory");
  at += strlen(at) + 1;
  memcpy(&offset, at, sizeof(offset));
  at += sizeof(offset);
  struct stream *stream = memory_stream_new(packed->data, packed->len, offset, 0);
  while (at < end) {
    const char *name = at;
    size_t used = 0;
    at += strlen(name) + 1;
    REQUIRE(unpack_stream_restore(stream, name, at, (size_t)(end - at), &used, &stream, &err) == 0);
    at += used;
  }
  return stream;
}

static void
test_the_stack_is_saved_and_restored(void)
{
  CLEANUP(buffer_clear) struct buffer once = {0};
  CLEANUP(buffer_clear) struct buffer packed = {0};
  struct probe probe;
  pack_fill(data, DATA_LEN, 3);
  pack_gzip(&once, data, DATA_LEN, PACK_DYNAMIC, 0);
  pack_gzip(&packed, once.data, once.len, PACK_DYNAMIC, 0);
  CLEANUP(stream_closep) struct stream *stream = NULL;
  REQUIRE(unpack_stream_new(memory_stream_new(packed.data, packed.len, 0, 0), &stream, &probe,
                            NULL) == 0);
  size_t got = 0;
  for (size_t part = 10; got < DATA_LEN; part = part * 3) {
    CLEANUP(buffer_clear) struct buffer state = {0};
    ssize_t n = stream_read_most(stream, buf + got,
                                 part < sizeof(buf) - got ? part : sizeof(buf) - got, NULL);
    REQUIRE(n > 0);
    got += (size_t)n;
    REQUIRE(stream_save(stream, &state, NULL) == 0);
    stream_close(TAKE(stream));
    stream = restore(&state, &packed);
  }
  CHECK_NUMBER(stream_read(stream, buf + got, 1, NULL), 0);
  CHECK_NUMBER(got, DATA_LEN);
  CU_ASSERT(memcmp(buf, data, DATA_LEN) == 0);
}

static void
test_unknown_streams_are_not_restored(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct stream *stream = NULL;
  size_t used;
  CHECK_NUMBER(
      unpack_stream_restore(memory_stream_new("", 0, 0, 0), "lz4", "", 0, &used, &stream, &err),
      -1);
  CHECK_ERROR(&err, ERROR_UNIMPLEMENTED, "'lz4'");
  CHECK_NUMBER(
      unpack_stream_restore(memory_stream_new("", 0, 0, 0), "peek", "x", 1, &used, &stream, &err),
      -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "peek");
}

UNIT_MAIN("populator/format/unpack", UNIT_TEST(test_a_look_loses_nothing),
          UNIT_TEST(test_a_look_reports_errors_below), UNIT_TEST(test_compressions_come_off),
          UNIT_TEST(test_compressions_around_each_other_share_their_memory),
          UNIT_TEST(test_what_only_claims_to_be_compressed_is_refused),
          UNIT_TEST(test_the_stack_is_saved_and_restored),
          UNIT_TEST(test_unknown_streams_are_not_restored))
