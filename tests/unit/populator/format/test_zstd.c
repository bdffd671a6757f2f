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
  CU_ASSERT_FALSE(stream_can_save(stream));
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

UNIT_MAIN("populator/format/zstd", UNIT_TEST(test_frames_follow_each_other),
          UNIT_TEST(test_an_early_end_is_an_error_wherever), UNIT_TEST(test_damage_is_told),
          UNIT_TEST(test_the_window_is_limited))
