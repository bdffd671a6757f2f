/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd_frame.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"
#include "populator/format/zstd.h"
#include "tests/format/memory_stream.h"
#include "tests/format/pack.h"
#include "tests/unit/unit.h"

#define DATA_LEN ((size_t)1 << 20)

static char data[DATA_LEN];
static char out[DATA_LEN + 1];

struct packing {
  int level, window_log;
  bool has_checksum, has_size;
};

/* As one frame. */
static void
pack(struct buffer *packed, size_t len, const struct packing *packing)
{
  size_t room = ZSTD_compressBound(len);
  CLEANUP(freep) char *frame = xcalloc(1, room);
  ZSTD_CCtx *context = ZSTD_createCCtx();
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, packing->level);
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, packing->window_log);
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, packing->has_checksum);
  ZSTD_inBuffer in = {.src = data, .size = len};
  ZSTD_outBuffer to = {.dst = frame, .size = room};
  if (packing->has_size)
    (void)ZSTD_CCtx_setPledgedSrcSize(context, len);
  else
    (void)ZSTD_compressStream2(context, &to, &in, ZSTD_e_continue);
  REQUIRE(ZSTD_compressStream2(context, &to, &in, ZSTD_e_end) == 0);
  (void)ZSTD_freeCCtx(context);
  packed->len = 0;
  (void)buffer_append(packed, frame, to.pos);
}

/* ---- content -----------------------------------------------------------------------------------
 */

static void
fill_text(void)
{
  static const char *const words[] = {"the ", "image ", "of a ", "disk\n", "block, ", "frame "};
  unsigned state = 7;
  for (size_t at = 0; at < DATA_LEN; at++) {
    state = state * 1103515245 + 12345;
    const char *word = words[(state >> 16) % 6];
    for (; *word && at < DATA_LEN; word++)
      data[at++] = *word;
    if (at < DATA_LEN)
      data[at] = (char)('a' + (state >> 24) % 26);
  }
}

/* The program itself, over and over. */
static void
fill_program(void)
{
  CLEANUP(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  for (size_t at = 0; at < DATA_LEN;) {
    ssize_t got = read(fd, data + at, DATA_LEN - at);
    REQUIRE(got >= 0);
    at += (size_t)got;
    if (got == 0)
      REQUIRE(lseek(fd, 0, SEEK_SET) == 0);
  }
}

static void
fill_zeros(void)
{
  memset(data, 0, DATA_LEN);
}

static void
fill_random(void)
{
  unsigned state = 1;
  for (size_t at = 0; at < DATA_LEN; at++) {
    state = state * 1664525 + 1013904223;
    data[at] = (char)(state >> 24);
  }
}

/* Records that differ in a field: every match is as far away as the one before. */
static void
fill_records(void)
{
  for (size_t at = 0; at < DATA_LEN; at++) {
    size_t field = at / 64 * 2654435761U >> 8;
    data[at] = at % 64 < 4 ? (char)(field >> at % 4 * 8) : (char)(at % 64);
  }
}

static void
fill_mixture(void)
{
  fill_program();
  CLEANUP(freep) char *program = xcalloc(1, DATA_LEN);
  memcpy(program, data, DATA_LEN);
  fill_random();
  memcpy(data + 100000, program, 300000);
  memset(data + 400000, 0, 300000);
  pack_fill(data + 700000, 200000, 3);
}

static const struct {
  const char *name;
  void (*fill)(void);
} contents[] = {
    {"text", fill_text},     {"program", fill_program}, {"zeros", fill_zeros},
    {"random", fill_random}, {"records", fill_records}, {"mixture", fill_mixture},
};

/* ---- going on ----------------------------------------------------------------------------------
 */

static struct stream *
open_packed(const struct buffer *packed)
{
  struct stream *stream = NULL;
  REQUIRE(zstd_stream_new(memory_stream_new(packed->data, packed->len, 0, 0), &stream, NULL) == 0);
  return stream;
}

/* As another process would; takes the stream. */
static struct stream *
go_on(struct stream *stream, const struct buffer *packed, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(stream_closep) struct stream *old = stream;
  struct stream *next = NULL;
  size_t used = 0;
  if (old->ops->save(old, &state, err) < 0)
    return NULL;
  size_t position = memory_stream_position(old->below);
  REQUIRE(zstd_stream_restore(memory_stream_new(packed->data, packed->len, position, 0), state.data,
                              state.len, &used, &next, err) == 0);
  CU_ASSERT(used == state.len);
  return next;
}

/* Reads all of it, by another process every `step` bytes. How much, or -1. */
static ssize_t
read_in_steps(const struct buffer *packed, size_t step, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = open_packed(packed);
  size_t got = 0;
  for (ssize_t n = 1; n > 0; got += (size_t)n) {
    size_t room = sizeof(out) - got < step ? sizeof(out) - got : step;
    n = stream_read_most(stream, out + got, room, err);
    if (n < 0)
      return -1;
    stream = go_on(TAKE(stream), packed, err);
    if (!stream)
      return -1;
  }
  return (ssize_t)got;
}

static void
check_steps(const char *name, size_t len, const struct packing *packing, size_t step)
{
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  pack(&packed, len, packing);
  memset(out, 'x', sizeof(out));
  ssize_t got = read_in_steps(&packed, step, &err);
  CHECK_ROW(got == (ssize_t)len, err ? err->message : name);
  CHECK_ROW(memcmp(out, data, len) == 0, name);
}

static void
test_every_content_goes_on_within_a_frame(void)
{
  static const int levels[] = {-20, -1, 1, 3, 9, 19};
  for (size_t c = 0; c < sizeof(contents) / sizeof(contents[0]); c++) {
    contents[c].fill();
    for (size_t l = 0; l < sizeof(levels) / sizeof(levels[0]); l++) {
      struct packing packing = {.level = levels[l], .has_checksum = l % 2, .has_size = l % 3 == 0};
      check_steps(contents[c].name, DATA_LEN, &packing, 99991);
    }
  }
}

static void
test_every_window_goes_on(void)
{
  fill_mixture();
  for (int log = 10; log <= 23; log++) {
    struct packing packing = {.level = 3, .window_log = log, .has_checksum = true};
    check_steps("a window", DATA_LEN, &packing, 70001);
    check_steps("a short file", 3000, &packing, 100);
    packing.has_size = true;
    check_steps("a window with a size", DATA_LEN, &packing, 70001);
    check_steps("a short file with a size", 3000, &packing, 100);
  }
}

/* All places of a frame that several windows long. */
static void
test_a_small_window_turns_often(void)
{
  fill_program();
  struct packing packing = {.level = 19, .window_log = 10, .has_checksum = true};
  check_steps("small steps", 100000, &packing, 777);
}

/* ---- blocks made by hand -----------------------------------------------------------------------
 */

#define HEADER "\x28\xb5\x2f\xfd\0\0" /* a window of 1 KiB */
/* Ten literals, and twice one of them and three more of it, by tables of a single symbol each; the
 * same by the tables before; the same by a tree before. The first byte is the block's header. */
#define SINGLE                                                                                     \
  "\x50"                                                                                           \
  "abcdefghij"                                                                                     \
  "\2\x54\1\0\0\1"
#define REPEATED                                                                                   \
  "\x50"                                                                                           \
  "klmnopqrst"                                                                                     \
  "\2\xfc\1"
#define TREELESS "\x83\x40\0\2\0"

static void
append_block(struct buffer *file, unsigned type, const void *block, size_t len, bool is_last)
{
  unsigned header = (unsigned)len << 3 | type << 1 | is_last;
  const unsigned char bytes[] = {header & 0xff, header >> 8 & 0xff, header >> 16 & 0xff};
  (void)buffer_append(file, bytes, sizeof(bytes));
  (void)buffer_append(file, block, type == 1 ? 1 : len);
}

static void
test_a_table_of_one_symbol_is_used_again(void)
{
  CLEANUP(buffer_clear) struct buffer file = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  (void)buffer_append(&file, HEADER, 6);
  append_block(&file, 2, SINGLE, sizeof(SINGLE) - 1, false);
  append_block(&file, 1, "z", 20, false);
  append_block(&file, 2, REPEATED, sizeof(REPEATED) - 1, false);
  append_block(&file, 0, "raw", 3, false);
  append_block(&file, 2, REPEATED, sizeof(REPEATED) - 1, true);
  for (size_t step = 1; step < 60; step++) {
    memset(out, 0, 100);
    CHECK_NUMBER(read_in_steps(&file, step, &err), 16 + 20 + 16 + 3 + 16);
    CHECK_STRING(out, "aaaabbbbcdefghijzzzzzzzzzzzzzzzzzzzz"
                      "kkkkllllmnopqrstrawkkkkllllmnopqrst");
  }
}

static void
test_empty_blocks_are_passed_over(void)
{
  CLEANUP(buffer_clear) struct buffer file = {0};
  (void)buffer_append(&file, HEADER, 6);
  append_block(&file, 0, "", 0, false);
  append_block(&file, 1, "z", 0, false);
  append_block(&file, 0, "raw", 3, false);
  append_block(&file, 1, "z", 0, false);
  append_block(&file, 0, "", 0, true);
  for (size_t step = 1; step < 5; step++) {
    memset(out, 0, 10);
    CHECK_NUMBER(read_in_steps(&file, step, NULL), 3);
    CHECK_STRING(out, "raw");
  }
}

static void
test_a_table_that_never_was_is_not_used(void)
{
  static const struct {
    const char *block;
    size_t len;
  } rows[] = {{REPEATED, sizeof(REPEATED) - 1}, {TREELESS, sizeof(TREELESS) - 1}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(buffer_clear) struct buffer file = {0};
    (void)buffer_append(&file, HEADER, 6);
    append_block(&file, 1, "z", 50, false);
    append_block(&file, 2, rows[i].block, rows[i].len, true);
    for (size_t step = 10; step <= 200; step += 190) {
      CLEANUP(error_freep) struct error *err = NULL;
      CHECK_NUMBER(read_in_steps(&file, step, &err), -1);
      CHECK_ERROR(&err, ERROR_DATA_LOSS, "zstd: the file is damaged");
    }
  }
}

/* ---- damage ------------------------------------------------------------------------------------
 */

static void
test_damage_is_found_in_a_frame_that_went_on(void)
{
  CLEANUP(buffer_clear) struct buffer packed = {0};
  fill_mixture();
  struct packing packing = {.level = 1, .has_checksum = true, .has_size = true};
  pack(&packed, DATA_LEN, &packing);
  for (size_t step = 99991; step <= DATA_LEN; step += 500000) {
    CLEANUP(error_freep) struct error *err = NULL;
    packed.data[packed.len - 1] ^= 1;
    CHECK_NUMBER(read_in_steps(&packed, step, &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "zstd: the file is damaged: Restored data doesn't match");
    packed.data[packed.len - 1] ^= 1;
    packed.data[6] ^= 1; /* how long its content is */
    CHECK_NUMBER(read_in_steps(&packed, step, &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "zstd: the file is damaged");
    packed.data[6] ^= 1;
  }
}

static void
test_an_early_end_is_found_in_a_frame_that_went_on(void)
{
  CLEANUP(buffer_clear) struct buffer packed = {0};
  fill_text();
  struct packing packing = {.level = 3, .window_log = 10, .has_checksum = true};
  pack(&packed, 6000, &packing);
  for (size_t len = packed.len; len-- > 0;) {
    CLEANUP(error_freep) struct error *err = NULL;
    packed.len = len;
    CHECK_NUMBER(read_in_steps(&packed, 1500, &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "zstd: the file ends too early");
  }
}

/* Whatever is flipped: what is read in steps is what is read at once, or both are refused. */
static void
test_flipped_bits_change_nothing_silently(void)
{
  static char whole[sizeof(out)];
  CLEANUP(buffer_clear) struct buffer packed = {0};
  fill_program();
  for (int with = 0; with < 2; with++) {
    struct packing packing = {.level = 3, .window_log = 12, .has_checksum = with};
    pack(&packed, 30000, &packing);
    for (size_t i = 0; i < 400; i++) {
      size_t bit = i < 100 ? i : i * 7919 % (packed.len * 8);
      packed.data[bit / 8] ^= (char)(1 << bit % 8);
      ssize_t at_once = read_in_steps(&packed, sizeof(out), NULL);
      memcpy(whole, out, at_once > 0 ? (size_t)at_once : 0);
      ssize_t in_steps = read_in_steps(&packed, 7001, NULL);
      CHECK_NUMBER(in_steps, at_once);
      CU_ASSERT(at_once <= 0 || memcmp(whole, out, (size_t)at_once) == 0);
      CU_ASSERT(!with || at_once < 0 || memcmp(out, data, 30000) == 0);
      packed.data[bit / 8] ^= (char)(1 << bit % 8);
    }
  }
}

/* ---- saved states ------------------------------------------------------------------------------
 */

/* The body of what is saved behind the first block. */
static void
save_body(const struct buffer *packed, struct buffer *ret_body, uint32_t *ret_form,
          size_t *ret_position)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(stream_closep) struct stream *stream = open_packed(packed);
  size_t used;
  REQUIRE(stream_read_full(stream, out, 5000, NULL) == 0);
  REQUIRE(stream->ops->save(stream, &state, NULL) == 0);
  *ret_form = bytes_le32(state.data);
  *ret_position = memory_stream_position(stream->below);
  REQUIRE(state_unseal(*ret_form, state.data, state.len, SIZE_MAX, ret_body, &used, NULL) == 0);
}

/* Which bit is forged next: many of all but the window, which comes last, and unread bytes. */
static size_t
next_bit(size_t bit, size_t body_len)
{
  size_t from = (body_len - 4096 - 600) * 8;
  return bit + (bit < 64 ? 1 : bit < from || bit > from + 4800 ? 401 : 3);
}

static void
test_a_forged_state_does_no_harm(void)
{
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(buffer_clear) struct buffer body = {0};
  uint32_t form;
  size_t position, refused = 0;
  fill_program();
  struct packing packing = {.level = 9, .window_log = 12, .has_checksum = true};
  pack(&packed, 20000, &packing);
  save_body(&packed, &body, &form, &position);
  for (size_t i = 0; i < body.len * 8; i = next_bit(i, body.len)) {
    CLEANUP(buffer_clear) struct buffer state = {0};
    CLEANUP(stream_closep) struct stream *stream = NULL;
    size_t used;
    body.data[i / 8] ^= (char)(1 << i % 8);
    REQUIRE(state_seal(form, &body, &state, NULL) == 0);
    body.data[i / 8] ^= (char)(1 << i % 8);
    if (zstd_stream_restore(memory_stream_new(packed.data, packed.len, position, 0), state.data,
                            state.len, &used, &stream, NULL) < 0) {
      refused++;
      continue;
    }
    state.len = 0;
    if (stream_read_most(stream, out, 4000, NULL) >= 0)
      (void)stream->ops->save(stream, &state, NULL);
    (void)stream_read_most(stream, out, sizeof(out), NULL);
  }
  CU_ASSERT(refused > 100);
}

UNIT_MAIN("populator/format/zstd_frame", UNIT_TEST(test_every_content_goes_on_within_a_frame),
          UNIT_TEST(test_every_window_goes_on), UNIT_TEST(test_a_small_window_turns_often),
          UNIT_TEST(test_a_table_of_one_symbol_is_used_again),
          UNIT_TEST(test_empty_blocks_are_passed_over),
          UNIT_TEST(test_a_table_that_never_was_is_not_used),
          UNIT_TEST(test_damage_is_found_in_a_frame_that_went_on),
          UNIT_TEST(test_an_early_end_is_found_in_a_frame_that_went_on),
          UNIT_TEST(test_flipped_bits_change_nothing_silently),
          UNIT_TEST(test_a_forged_state_does_no_harm))
