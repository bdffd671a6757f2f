/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd.h"

#include <string.h>
#include <zstd.h>

#include "lib/base/memory.h"
#include "tests/format/memory_stream.h"
#include "tests/format/pack.h"
#include "tests/unit/unit.h"

#define DATA_LEN ((size_t)300000)

static char data[DATA_LEN];

static void
pack_zstd(struct buffer *out, const char *bytes, size_t len, int window_log)
{
  size_t room = ZSTD_compressBound(len) + 100;
  CLEANUP(freep) char *packed = xcalloc(1, room);
  ZSTD_CCtx *context = ZSTD_createCCtx();
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  /* as a stream: the size is not known in advance, so the frame names its window */
  ZSTD_inBuffer in = {.src = bytes, .size = len};
  ZSTD_outBuffer packing = {.dst = packed, .size = room};
  (void)ZSTD_compressStream2(context, &packing, &in, ZSTD_e_continue);
  REQUIRE(ZSTD_compressStream2(context, &packing, &in, ZSTD_e_end) == 0);
  (void)ZSTD_freeCCtx(context);
  (void)buffer_append(out, packed, packing.pos);
}

static ssize_t
read_all(const struct buffer *packed, size_t piece, char *buf, size_t room, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  REQUIRE(zstd_stream_new(memory_stream_new(packed->data, packed->len, 0, piece), &stream, err) ==
          0);
  ssize_t got = stream_read_most(stream, buf, room, err);
  char more;
  if (got >= 0 && stream_read(stream, &more, 1, err) != 0)
    return -1;
  return got;
}

static void
test_frames_follow_each_other(void)
{
  static char buf[DATA_LEN + 1];
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_fill(data, DATA_LEN, 1);
  (void)buffer_append(&packed, "\x50\x2a\x4d\x18\3\0\0\0abc", 11); /* holds no data */
  pack_zstd(&packed, data, 100000, 0);
  pack_zstd(&packed, data + 100000, 0, 0);
  (void)buffer_append(&packed, "\x5f\x2a\x4d\x18\0\0\0\0", 8);
  pack_zstd(&packed, data + 100000, DATA_LEN - 100000, 0);
  for (size_t piece = 0; piece < 3000; piece += 977) {
    CHECK_NUMBER(read_all(&packed, piece, buf, sizeof(buf), NULL), DATA_LEN);
    CU_ASSERT(memcmp(buf, data, DATA_LEN) == 0);
  }
}

static void
test_an_early_end_is_an_error_wherever(void)
{
  static char buf[DATA_LEN];
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_fill(data, DATA_LEN, 2);
  pack_zstd(&packed, data, 2000, 0);
  for (size_t len = packed.len; len-- > 0;) {
    CLEANUP(error_freep) struct error *err = NULL;
    packed.len = len;
    CHECK_NUMBER(read_all(&packed, 0, buf, sizeof(buf), &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "too early");
  }
}

static void
test_damage_is_told(void)
{
  static char buf[DATA_LEN];
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_fill(data, DATA_LEN, 3);
  pack_zstd(&packed, data, 5000, 0);
  packed.data[0] ^= 1;
  CHECK_NUMBER(read_all(&packed, 0, buf, sizeof(buf), &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "no zstd frame");
  packed.data[0] ^= 1;
  packed.data[packed.len - 1] ^= 1; /* its checksum */
  CHECK_NUMBER(read_all(&packed, 0, buf, sizeof(buf), &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "damaged");
  packed.data[packed.len - 1] ^= 1;
  (void)buffer_append_text(&packed, "something else");
  CHECK_NUMBER(read_all(&packed, 0, buf, sizeof(buf), &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "no zstd frame");
}

static void
test_the_window_is_limited(void)
{
  static char buf[DATA_LEN];
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_zstd(&packed, data, DATA_LEN, ZSTD_STREAM_WINDOW_LOG_MAX);
  CHECK_NUMBER(read_all(&packed, 0, buf, sizeof(buf), &err), DATA_LEN);
  buffer_clear(&packed);
  pack_zstd(&packed, data, DATA_LEN, ZSTD_STREAM_WINDOW_LOG_MAX + 1);
  CHECK_NUMBER(read_all(&packed, 0, buf, sizeof(buf), &err), -1);
  CHECK_ERROR(&err, ERROR_RESOURCE_EXHAUSTED, "128 MiB");
}

/* ---- saving ------------------------------------------------------------------------------------
 */

static struct stream *
restart(struct stream *stream, const struct buffer *packed, size_t piece)
{
  struct stream *restored = memory_stream_restart(stream, zstd_stream_restore, packed, piece);
  REQUIRE(restored);
  return restored;
}

static void
test_it_goes_on_from_a_saved_state(void)
{
  static char buf[DATA_LEN + 1];
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_fill(data, DATA_LEN, 4);
  for (size_t at = 0; at < DATA_LEN; at += 50000) {
    pack_zstd(&packed, data + at, 50000, 0);
    (void)buffer_append(&packed, "\x5f\x2a\x4d\x18\0\0\0\0", 8);
  }
  for (size_t piece = 0; piece < 3000; piece += 977) {
    CLEANUP(stream_closep) struct stream *stream = NULL;
    REQUIRE(zstd_stream_new(memory_stream_new(packed.data, packed.len, 0, piece), &stream, NULL) ==
            0);
    size_t got = 0;
    for (ssize_t n = 1; n > 0; got += (size_t)n) {
      stream = restart(TAKE(stream), &packed, piece);
      n = stream_read(stream, buf + got, sizeof(buf) - got < 7001 ? sizeof(buf) - got : 7001, NULL);
      REQUIRE(n >= 0);
    }
    CHECK_NUMBER(got, DATA_LEN);
    CU_ASSERT(memcmp(buf, data, DATA_LEN) == 0);
  }
}

enum { MIB = 1 << 20 };

/* What comes last is found far back, before all restarts. */
static void
test_a_frame_goes_on_with_a_long_window(void)
{
  enum { LEN = 40 * MIB, STEP = 13 * MIB };
  CLEANUP(freep) char *bytes = xcalloc(1, LEN);
  CLEANUP(freep) char *buf = xcalloc(1, LEN);
  CLEANUP(buffer_clear) struct buffer packed = {0}, packed_once = {0};
  CLEANUP(stream_closep) struct stream *stream = NULL;
  pack_fill(bytes, DATA_LEN, 9);
  memcpy(bytes + LEN - DATA_LEN, bytes, DATA_LEN);
  pack_zstd(&packed_once, bytes, LEN - DATA_LEN, 26);
  pack_zstd(&packed, bytes, LEN, 26);
  REQUIRE(packed.len < packed_once.len + packed_once.len / 10);
  REQUIRE(zstd_stream_new(memory_stream_new(packed.data, packed.len, 0, 0), &stream, NULL) == 0);
  size_t got = 0;
  for (; got + STEP <= LEN; got += STEP) {
    REQUIRE(stream_read_full(stream, buf + got, STEP, NULL) == 0);
    stream = restart(TAKE(stream), &packed, 0);
  }
  CHECK_NUMBER(stream_read_most(stream, buf + got, LEN - got, NULL), LEN - got);
  CHECK_NUMBER(stream_read(stream, buf, 1, NULL), 0);
  CU_ASSERT(memcmp(buf, bytes, LEN) == 0);
}

static void
test_a_frame_with_too_long_a_window_is_not_saved(void)
{
  enum { LEN = 72 * MIB, READ = 65 * MIB };
  CLEANUP(freep) char *bytes = xcalloc(1, LEN);
  CLEANUP(freep) char *buf = xcalloc(1, LEN);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(stream_closep) struct stream *stream = NULL;
  memset(bytes, 'z', LEN);
  pack_zstd(&packed, bytes, LEN, 27);
  REQUIRE(zstd_stream_new(memory_stream_new(packed.data, packed.len, 0, 0), &stream, NULL) == 0);
  REQUIRE(stream_read_full(stream, buf, READ, NULL) == 0);
  CHECK_NUMBER(stream->ops->save(stream, &state, &err), -1);
  CHECK_ERROR(&err, ERROR_RESOURCE_EXHAUSTED, "long frame");
  CHECK_NUMBER(stream_read_most(stream, buf + READ, LEN - READ, NULL), LEN - READ);
  CU_ASSERT(memcmp(buf, bytes, LEN) == 0);
  CHECK_NUMBER(stream->ops->save(stream, &state, NULL), 0); /* it has ended */
}

static void
test_a_damaged_state_is_refused(void)
{
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(stream_closep) struct stream *stream = NULL;
  pack_zstd(&packed, data, 1000, 0);
  REQUIRE(zstd_stream_new(memory_stream_new(packed.data, packed.len, 0, 0), &stream, NULL) == 0);
  REQUIRE(stream->ops->save(stream, &state, NULL) == 0);
  for (size_t len = 0; len < state.len; len++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct stream *restored = NULL;
    size_t used;
    CHECK_NUMBER(zstd_stream_restore(memory_stream_new("", 0, 0, 0), state.data, len, &used,
                                     &restored, &err),
                 -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "zstd");
  }
}

UNIT_MAIN("populator/format/zstd", UNIT_TEST(test_frames_follow_each_other),
          UNIT_TEST(test_an_early_end_is_an_error_wherever), UNIT_TEST(test_damage_is_told),
          UNIT_TEST(test_the_window_is_limited), UNIT_TEST(test_it_goes_on_from_a_saved_state),
          UNIT_TEST(test_a_frame_goes_on_with_a_long_window),
          UNIT_TEST(test_a_frame_with_too_long_a_window_is_not_saved),
          UNIT_TEST(test_a_damaged_state_is_refused))
