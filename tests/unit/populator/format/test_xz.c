/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/xz.h"

#include <lzma.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/format/memory_stream.h"
#include "tests/format/pack.h"
#include "tests/unit/unit.h"

#define DATA_LEN ((size_t)300000)

static char data[DATA_LEN];

static void
pack_xz(struct buffer *out, const char *bytes, size_t len, uint32_t preset)
{
  size_t room = lzma_stream_buffer_bound(len), used = 0;
  CLEANUP(freep) uint8_t *packed = xcalloc(1, room);
  REQUIRE(lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC64, NULL, (const uint8_t *)bytes, len,
                                  packed, &used, room) == LZMA_OK);
  (void)buffer_append(out, packed, used);
}

/* As the xz command makes it: one block, whose length stands nowhere, or one every `block` bytes.
 */
static void
pack_stream(struct buffer *out, const char *bytes, size_t len, const lzma_filter *filters,
            lzma_check check, size_t block)
{
  lzma_stream lzma = LZMA_STREAM_INIT;
  size_t room = 2 * lzma_stream_buffer_bound(len) + 100000;
  CLEANUP(freep) uint8_t *packed = xcalloc(1, room);
  REQUIRE(lzma_stream_encoder(&lzma, filters, check) == LZMA_OK);
  lzma.next_out = packed;
  lzma.avail_out = room;
  for (size_t at = 0, n; at <= len; at += n) {
    n = block > 0 && block < len - at ? block : len - at;
    lzma.next_in = (const uint8_t *)bytes + at;
    lzma.avail_in = n;
    bool is_last = at + n == len;
    REQUIRE(lzma_code(&lzma, is_last ? LZMA_FINISH : LZMA_FULL_FLUSH) == LZMA_STREAM_END);
    if (is_last)
      break;
  }
  (void)buffer_append(out, packed, room - lzma.avail_out);
  lzma_end(&lzma);
}

static lzma_options_lzma
with_small_dictionary(uint32_t preset)
{
  lzma_options_lzma options;
  REQUIRE(!lzma_lzma_preset(&options, preset));
  options.dict_size = (uint32_t)1 << 16;
  return options;
}

static void
pack_lzma2(struct buffer *out, size_t len, uint32_t preset, lzma_check check, size_t block)
{
  lzma_options_lzma options = with_small_dictionary(preset);
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
  pack_stream(out, data, len, filters, check, block);
}

static ssize_t
read_all(const struct buffer *packed, size_t piece, char *buf, size_t room, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  REQUIRE(xz_stream_new(memory_stream_new(packed->data, packed->len, 0, piece), &stream, err) == 0);
  ssize_t got = stream_read_most(stream, buf, room, err);
  char more;
  if (got < 0) { /* nor does it go on behind an error */
    CLEANUP(buffer_clear) struct buffer state = {0};
    CU_ASSERT(stream_read(stream, &more, 1, NULL) <= 0);
    (void)stream->ops->save(stream, &state, NULL);
  }
  if (got >= 0 && stream_read(stream, &more, 1, err) != 0)
    return -1;
  return got;
}

static void
test_streams_follow_each_other(void)
{
  static char buf[DATA_LEN + 1];
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_fill(data, DATA_LEN, 1);
  pack_xz(&packed, data, 100000, 6);
  pack_xz(&packed, data + 100000, 0, 0);
  (void)buffer_append(&packed, "\0\0\0\0", 4); /* padding, as the format allows it */
  pack_xz(&packed, data + 100000, DATA_LEN - 100000, 1);
  for (size_t piece = 0; piece < 3000; piece += 977) {
    CHECK_NUMBER(read_all(&packed, piece, buf, sizeof(buf), NULL), DATA_LEN);
    CU_ASSERT(memcmp(buf, data, DATA_LEN) == 0);
  }
}

static const lzma_check checks[] = {LZMA_CHECK_NONE, LZMA_CHECK_CRC32, LZMA_CHECK_CRC64,
                                    LZMA_CHECK_SHA256};
#define CHECKS (sizeof(checks) / sizeof(checks[0]))

static void
test_blocks_without_sizes(void)
{
  static char buf[DATA_LEN + 1];
  static const size_t blocks[] = {0, 70001, 100000};
  pack_fill(data, DATA_LEN, 5);
  for (size_t i = 0; i < 3 * CHECKS; i++) {
    CLEANUP(buffer_clear) struct buffer packed = {0};
    pack_lzma2(&packed, DATA_LEN, (uint32_t)i % 7, checks[i % CHECKS], blocks[i / CHECKS]);
    for (size_t piece = 0; piece < 2000; piece += 997) {
      CHECK_NUMBER(read_all(&packed, piece, buf, sizeof(buf), NULL), DATA_LEN);
      CU_ASSERT(memcmp(buf, data, DATA_LEN) == 0);
    }
  }
}

/* Long blocks, and by turns such as liblzma decodes because they say that they are short. */
static void
test_decoders_take_turns(void)
{
  static char buf[DATA_LEN + 1];
  CLEANUP(buffer_clear) struct buffer packed = {0};
  lzma_options_lzma options;
  REQUIRE(!lzma_lzma_preset(&options, 1));
  options.dict_size = (uint32_t)80 << 20; /* two such would be too much */
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
  CLEANUP(freep) uint8_t *said = xcalloc(1, DATA_LEN);
  size_t used = 0;
  pack_fill(data, DATA_LEN, 6);
  pack_stream(&packed, data, 100000, filters, LZMA_CHECK_CRC32, 0);
  REQUIRE(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, (uint8_t *)data + 100000,
                                    100000, said, &used, DATA_LEN) == LZMA_OK);
  (void)buffer_append(&packed, said, used);
  pack_stream(&packed, data + 200000, 100000, filters, LZMA_CHECK_CRC32, 0);
  CHECK_NUMBER(read_all(&packed, 0, buf, sizeof(buf), NULL), DATA_LEN);
  CU_ASSERT(memcmp(buf, data, DATA_LEN) == 0);
}

static void
check_early_end(struct buffer *packed)
{
  static char buf[DATA_LEN];
  for (size_t len = packed->len; len-- > 0;) {
    CLEANUP(error_freep) struct error *err = NULL;
    packed->len = len;
    CHECK_NUMBER(read_all(packed, 0, buf, sizeof(buf), &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "too early");
  }
}

static void
test_an_early_end_is_an_error_wherever(void)
{
  pack_fill(data, DATA_LEN, 2);
  for (size_t i = 0; i < CHECKS; i++) {
    CLEANUP(buffer_clear) struct buffer packed = {0};
    pack_lzma2(&packed, 2000, 0, checks[i], 700);
    check_early_end(&packed);
  }
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_xz(&packed, data, 2000, 0);
  check_early_end(&packed);
}

/* Or it is one on which nothing depends: of literals' contexts, where there are few literals. */
static void
test_every_flipped_bit_is_told(void)
{
  static char buf[DATA_LEN];
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_fill(data, DATA_LEN, 7);
  pack_lzma2(&packed, 1500, 0, LZMA_CHECK_CRC64, 601);
  for (size_t i = 0; i < 8 * packed.len; i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    packed.data[i / 8] = (char)(packed.data[i / 8] ^ 1 << i % 8);
    ssize_t got = read_all(&packed, 0, buf, sizeof(buf), &err);
    CU_ASSERT(got == -1 || (got == 1500 && memcmp(buf, data, 1500) == 0));
    packed.data[i / 8] = (char)(packed.data[i / 8] ^ 1 << i % 8);
  }
}

static void
test_damage_is_told(void)
{
  static const struct {
    size_t offset;
    enum error_code code;
    const char *text;
  } rows[] = {
      {0, ERROR_DATA_LOSS, "no xz header"},
      {7, ERROR_DATA_LOSS, "damaged"},
      {200, ERROR_DATA_LOSS, "damaged"},
  };
  static char buf[DATA_LEN];
  pack_fill(data, DATA_LEN, 3);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(buffer_clear) struct buffer packed = {0};
    pack_xz(&packed, data, 5000, 0);
    packed.data[rows[i].offset] ^= 1;
    CHECK_NUMBER(read_all(&packed, 0, buf, sizeof(buf), &err), -1);
    CHECK_ERROR(&err, rows[i].code, rows[i].text);
  }
}

static void
test_what_stands_behind_the_end_is_an_error(void)
{
  static char buf[DATA_LEN];
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_xz(&packed, data, 5000, 0);
  (void)buffer_append_text(&packed, "something else");
  CHECK_NUMBER(read_all(&packed, 0, buf, sizeof(buf), &err), -1);
  CU_ASSERT_PTR_NOT_NULL(err);
}

/* A dictionary of 1 GiB: the header asks for it, whatever the data needs. */
static void
test_memory_is_limited(void)
{
  static char buf[1000];
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(buffer_clear) struct buffer packed = {0};
  lzma_options_lzma options;
  REQUIRE(!lzma_lzma_preset(&options, 0));
  options.dict_size = (uint32_t)1 << 30;
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
  uint8_t out[4096];
  size_t used = 0;
  REQUIRE(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, (const uint8_t *)"x", 1, out,
                                    &used, sizeof(out)) == LZMA_OK);
  (void)buffer_append(&packed, out, used);
  CHECK_NUMBER(read_all(&packed, 0, buf, sizeof(buf), &err), -1);
  CHECK_ERROR(&err, ERROR_RESOURCE_EXHAUSTED, "1025 MiB of memory");
}

/* ---- saving ------------------------------------------------------------------------------------
 */

/* One stream of many blocks, as "xz -T0" makes it. */
static void
pack_blocks(struct buffer *out, const char *bytes, size_t len, size_t block)
{
  lzma_stream lzma = LZMA_STREAM_INIT;
  const lzma_mt options = {
      .threads = 1, .block_size = block, .preset = 1, .check = LZMA_CHECK_CRC64};
  size_t room = 2 * lzma_stream_buffer_bound(len);
  CLEANUP(freep) uint8_t *packed = xcalloc(1, room);
  REQUIRE(lzma_stream_encoder_mt(&lzma, &options) == LZMA_OK);
  lzma.next_in = (const uint8_t *)bytes;
  lzma.avail_in = len;
  lzma.next_out = packed;
  lzma.avail_out = room;
  lzma_ret r = LZMA_OK;
  while (r == LZMA_OK)
    r = lzma_code(&lzma, LZMA_FINISH);
  REQUIRE(r == LZMA_STREAM_END);
  (void)buffer_append(out, packed, room - lzma.avail_out);
  lzma_end(&lzma);
}

static struct stream *
restart(struct stream *stream, const struct buffer *packed, size_t piece)
{
  struct stream *restored = memory_stream_restart(stream, xz_stream_restore, packed, piece);
  REQUIRE(restored);
  return restored;
}

/* How much came, restarted between all pieces; -1 on an error. */
static ssize_t
read_restarted(const struct buffer *packed, size_t piece, char *buf, size_t room)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  REQUIRE(xz_stream_new(memory_stream_new(packed->data, packed->len, 0, piece), &stream, NULL) ==
          0);
  size_t got = 0;
  for (;;) {
    stream = memory_stream_restart(TAKE(stream), xz_stream_restore, packed, piece);
    if (!stream)
      return -1;
    ssize_t n = stream_read(stream, buf + got, room - got < 7001 ? room - got : 7001, NULL);
    if (n <= 0)
      return n < 0 ? -1 : (ssize_t)got;
    got += (size_t)n;
  }
}

static void
test_it_goes_on_from_a_saved_state(void)
{
  static char buf[DATA_LEN + 1];
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_fill(data, DATA_LEN, 4);
  pack_blocks(&packed, data, 200000, 30000);
  size_t first = packed.len;
  (void)buffer_append(&packed, "\0\0\0\0", 4);
  pack_xz(&packed, data + 200000, 0, 1);
  pack_blocks(&packed, data + 200000, DATA_LEN - 200000, 40000);
  for (size_t piece = 0; piece < 3000; piece += 977) {
    CHECK_NUMBER(read_restarted(&packed, piece, buf, sizeof(buf)), DATA_LEN);
    CU_ASSERT(memcmp(buf, data, DATA_LEN) == 0);
  }
  packed.len = first;
  packed.data[first - 20] ^= 1; /* the index, which tells of blocks before the restart */
  CHECK_NUMBER(read_restarted(&packed, 0, buf, sizeof(buf)), -1);
}

/* One block, with a check or without one. */
static void
test_it_goes_on_in_the_middle_of_a_block(void)
{
  static char buf[DATA_LEN + 1];
  pack_fill(data, DATA_LEN, 8);
  for (size_t i = 0; i < CHECKS; i++) {
    CLEANUP(buffer_clear) struct buffer packed = {0};
    pack_lzma2(&packed, DATA_LEN, 0, checks[i], 0);
    for (size_t piece = 0; piece < 3000; piece += 977) {
      CHECK_NUMBER(read_restarted(&packed, piece, buf, sizeof(buf)), DATA_LEN);
      CU_ASSERT(memcmp(buf, data, DATA_LEN) == 0);
    }
    packed.data[packed.len - 50] ^=
        1; /* the check, of bytes from before the restarts, or near it */
    CHECK_NUMBER(read_restarted(&packed, 0, buf, sizeof(buf)), -1);
  }
}

/* ---- filters -----------------------------------------------------------------------------------
 */

/* Bytes that calls of all kinds of processors are made of. */
static void
fill_with_code(uint64_t seed)
{
  static const uint8_t often[] = {0x00, 0xff, 0xe8, 0xe9, 0xeb, 0xf0, 0xf8, 0xff, 0x48, 0x4b, 0x01,
                                  0x40, 0x7f, 0xc0, 0x94, 0x97, 0x90, 0xb0, 0x10, 0x16, 0x50, 0x00};
  for (size_t i = 0; i < DATA_LEN; i++) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    uint8_t byte = (uint8_t)(seed >> 40);
    data[i] = (char)(seed >> 60 > 3 ? often[byte % sizeof(often)] : byte);
  }
}

static void
check_filters(const lzma_filter *filters)
{
  static char buf[DATA_LEN + 1];
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_stream(&packed, data, DATA_LEN, filters, LZMA_CHECK_CRC64, 0);
  for (size_t piece = 0; piece < 2000; piece += 977) {
    CHECK_NUMBER(read_all(&packed, piece, buf, sizeof(buf), NULL), DATA_LEN);
    CU_ASSERT(memcmp(buf, data, DATA_LEN) == 0);
    memset(buf, 0, sizeof(buf));
    CHECK_NUMBER(read_restarted(&packed, piece, buf, sizeof(buf)), DATA_LEN);
    CU_ASSERT(memcmp(buf, data, DATA_LEN) == 0);
  }
}

static void
test_filters_are_undone(void)
{
  static const lzma_vli ids[] = {LZMA_FILTER_X86,   LZMA_FILTER_POWERPC,  LZMA_FILTER_IA64,
                                 LZMA_FILTER_ARM,   LZMA_FILTER_ARMTHUMB, LZMA_FILTER_SPARC,
                                 LZMA_FILTER_ARM64, LZMA_FILTER_DELTA};
  lzma_options_lzma options = with_small_dictionary(0);
  for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
    lzma_options_bcj begin = {.start_offset = (uint32_t)0 - 100000 / 16 * 16}; /* past 4 GiB */
    lzma_options_delta delta = {.type = LZMA_DELTA_TYPE_BYTE, .dist = 256};
    void *said = ids[i] == LZMA_FILTER_DELTA ? (void *)&delta : (void *)&begin;
    for (int k = 0; k < 2; k++) {
      fill_with_code(i + 1);
      check_filters(
          (lzma_filter[]){{ids[i], said}, {LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}});
      begin.start_offset = 0;
      delta.dist = 3;
    }
  }
}

static void
test_filters_follow_each_other(void)
{
  lzma_options_lzma options = with_small_dictionary(0);
  lzma_options_delta delta = {.type = LZMA_DELTA_TYPE_BYTE, .dist = 1};
  const lzma_filter x86 = {LZMA_FILTER_X86, NULL}, ia64 = {LZMA_FILTER_IA64, NULL};
  const lzma_filter distances = {LZMA_FILTER_DELTA, &delta}, end = {LZMA_VLI_UNKNOWN, NULL};
  const lzma_filter lzma2 = {LZMA_FILTER_LZMA2, &options};
  fill_with_code(77);
  check_filters((lzma_filter[]){x86, ia64, distances, lzma2, end});
  check_filters((lzma_filter[]){distances, ia64, x86, lzma2, end});
  check_filters((lzma_filter[]){ia64, x86, lzma2, end});
}

/* The last bytes are too few for an instruction. */
static void
test_short_blocks_are_filtered(void)
{
  static char buf[DATA_LEN];
  lzma_options_lzma options = with_small_dictionary(0);
  const lzma_filter filters[] = {{LZMA_FILTER_X86, NULL},
                                 {LZMA_FILTER_IA64, NULL},
                                 {LZMA_FILTER_LZMA2, &options},
                                 {LZMA_VLI_UNKNOWN, NULL}};
  fill_with_code(5);
  for (size_t len = 0; len < 40; len++) {
    CLEANUP(buffer_clear) struct buffer packed = {0};
    pack_stream(&packed, data, len, filters, LZMA_CHECK_CRC32, 0);
    CHECK_NUMBER(read_restarted(&packed, 0, buf, sizeof(buf)), (ssize_t)len);
    CU_ASSERT(memcmp(buf, data, len) == 0);
    if (len > 0)
      check_early_end(&packed);
  }
}

enum { LONG = 10 << 20 };

static void
pack_long(struct buffer *packed, const char *bytes, lzma_check check)
{
  size_t room = lzma_stream_buffer_bound(LONG), used = 0;
  CLEANUP(freep) uint8_t *out = xcalloc(1, room);
  REQUIRE(lzma_easy_buffer_encode(0, check, NULL, (const uint8_t *)bytes, LONG, out, &used, room) ==
          LZMA_OK);
  (void)buffer_append(packed, out, used);
}

/* Saved anew only when what was decoded ahead is read, as an import does it. */
static void
test_a_long_block_is_saved_though_its_length_is_known(void)
{
  CLEANUP(freep) char *bytes = xcalloc(1, LONG);
  CLEANUP(freep) char *buf = xcalloc(1, LONG);
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(stream_closep) struct stream *stream = NULL;
  for (size_t at = 0; at < LONG; at += DATA_LEN)
    memcpy(bytes + at, data, LONG - at < DATA_LEN ? LONG - at : DATA_LEN);
  pack_long(&packed, bytes, LZMA_CHECK_CRC64);
  REQUIRE(xz_stream_new(memory_stream_new(packed.data, packed.len, 0, 0), &stream, NULL) == 0);
  size_t step = LONG / 10, got = 0;
  for (; got + step <= LONG; got += step) {
    REQUIRE(stream_read_full(stream, buf + got, step, NULL) == 0);
    stream = restart(TAKE(stream), &packed, 0);
  }
  CHECK_NUMBER(stream_read_most(stream, buf + got, LONG - got, NULL), LONG - got);
  CHECK_NUMBER(stream_read(stream, buf, 1, NULL), 0);
  CU_ASSERT(memcmp(buf, bytes, LONG) == 0);
}

/* A size in the header that is not that of the block. */
static void
test_sizes_in_the_header_count(void)
{
  CLEANUP(freep) char *bytes = xcalloc(1, LONG);
  CLEANUP(freep) char *buf = xcalloc(1, LONG + 1);
  memset(bytes, 'x', LONG);
  for (int i = 0; i < 4; i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(buffer_clear) struct buffer packed = {0};
    lzma_filter filters[LZMA_FILTERS_MAX + 1];
    lzma_block block = {.version = 1, .check = LZMA_CHECK_CRC64, .filters = filters};
    pack_long(&packed, bytes, LZMA_CHECK_CRC64);
    uint8_t *header = (uint8_t *)packed.data + LZMA_STREAM_HEADER_SIZE;
    block.header_size = lzma_block_header_size_decode(header[0]);
    REQUIRE(lzma_block_header_decode(&block, NULL, header) == LZMA_OK);
    lzma_vli *size = i < 2 ? &block.compressed_size : &block.uncompressed_size;
    *size += i % 2 ? 1 : (lzma_vli)-1;
    REQUIRE(lzma_block_header_encode(&block, header) == LZMA_OK);
    lzma_filters_free(filters, NULL);
    CHECK_NUMBER(read_all(&packed, 0, buf, LONG + 1, &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "damaged");
  }
}

/* Gives a file a kind of check that the format has left free, of the same length. */
static void
use_unknown_check(struct buffer *packed)
{
  uint8_t *header = (uint8_t *)packed->data;
  uint8_t *footer = header + packed->len - LZMA_STREAM_HEADER_SIZE;
  lzma_stream_flags flags;
  REQUIRE(lzma_stream_footer_decode(&flags, footer) == LZMA_OK);
  REQUIRE(lzma_check_size((lzma_check)2) == lzma_check_size(flags.check));
  flags.check = (lzma_check)2;
  REQUIRE(lzma_stream_header_encode(&flags, header) == LZMA_OK);
  REQUIRE(lzma_stream_footer_encode(&flags, footer) == LZMA_OK);
}

/* liblzma's decoder has it then, whose state cannot be saved. */
static void
test_a_long_block_with_an_unknown_check_is_not_saved(void)
{
  CLEANUP(freep) char *bytes = xcalloc(1, LONG);
  CLEANUP(freep) char *buf = xcalloc(1, LONG);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(stream_closep) struct stream *stream = NULL;
  lzma_options_lzma options = with_small_dictionary(0);
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
  memset(bytes, 'x', LONG);
  pack_stream(&packed, bytes, LONG, filters, LZMA_CHECK_CRC32, 0);
  use_unknown_check(&packed);
  REQUIRE(xz_stream_new(memory_stream_new(packed.data, packed.len, 0, 0), &stream, NULL) == 0);
  REQUIRE(stream_read_full(stream, buf, 1000, NULL) == 0);
  CHECK_NUMBER(stream->ops->save(stream, &state, &err), -1);
  CHECK_ERROR(&err, ERROR_RESOURCE_EXHAUSTED, "long block");
  CHECK_NUMBER(stream_read_most(stream, buf + 1000, LONG - 1000, NULL), LONG - 1000);
  CU_ASSERT(memcmp(buf, bytes, LONG) == 0);
}

static void
check_damaged_states(const struct buffer *packed)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(stream_closep) struct stream *stream = NULL;
  char byte;
  REQUIRE(xz_stream_new(memory_stream_new(packed->data, packed->len, 0, 0), &stream, NULL) == 0);
  REQUIRE(stream_read_full(stream, &byte, 1, NULL) == 0);
  REQUIRE(stream->ops->save(stream, &state, NULL) == 0);
  for (size_t len = 0; len < state.len; len += len < 1000 ? 1 : 101) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct stream *restored = NULL;
    size_t used;
    CHECK_NUMBER(
        xz_stream_restore(memory_stream_new("", 0, 0, 0), state.data, len, &used, &restored, &err),
        -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "xz");
  }
}

static void
test_a_damaged_state_is_refused(void)
{
  CLEANUP(buffer_clear) struct buffer blocks = {0};
  CLEANUP(buffer_clear) struct buffer one = {0};
  pack_fill(data, DATA_LEN, 9);
  pack_blocks(&blocks, data, 1000, 400);
  check_damaged_states(&blocks);
  pack_lzma2(&one, DATA_LEN, 0, LZMA_CHECK_CRC32, 0);
  check_damaged_states(&one);

  CLEANUP(buffer_clear) struct buffer filtered = {0};
  lzma_options_lzma options = with_small_dictionary(0);
  lzma_options_delta delta = {.type = LZMA_DELTA_TYPE_BYTE, .dist = 4};
  const lzma_filter filters[] = {{LZMA_FILTER_DELTA, &delta},
                                 {LZMA_FILTER_X86, NULL},
                                 {LZMA_FILTER_LZMA2, &options},
                                 {LZMA_VLI_UNKNOWN, NULL}};
  pack_stream(&filtered, data, DATA_LEN, filters, LZMA_CHECK_CRC32, 0);
  check_damaged_states(&filtered);
}

UNIT_MAIN("populator/format/xz", UNIT_TEST(test_streams_follow_each_other),
          UNIT_TEST(test_blocks_without_sizes), UNIT_TEST(test_decoders_take_turns),
          UNIT_TEST(test_an_early_end_is_an_error_wherever),
          UNIT_TEST(test_every_flipped_bit_is_told), UNIT_TEST(test_damage_is_told),
          UNIT_TEST(test_what_stands_behind_the_end_is_an_error), UNIT_TEST(test_memory_is_limited),
          UNIT_TEST(test_it_goes_on_from_a_saved_state),
          UNIT_TEST(test_it_goes_on_in_the_middle_of_a_block),
          UNIT_TEST(test_a_long_block_is_saved_though_its_length_is_known),
          UNIT_TEST(test_sizes_in_the_header_count), UNIT_TEST(test_filters_are_undone),
          UNIT_TEST(test_filters_follow_each_other), UNIT_TEST(test_short_blocks_are_filtered),
          UNIT_TEST(test_a_long_block_with_an_unknown_check_is_not_saved),
          UNIT_TEST(test_a_damaged_state_is_refused))
