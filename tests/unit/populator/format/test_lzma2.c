/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/lzma2.h"

#include <lzma.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/format/pack.h"
#include "tests/unit/unit.h"

#define DATA_LEN ((size_t)300000)
#define DICT_SIZE ((uint32_t)1 << 20)
#define FORM 0x12345678

static char data[DATA_LEN];
static char out[DATA_LEN + 1];

/* As the encoder of `options` makes it, flushed every `flush` bytes: a chunk ends there. */
static void
pack_lzma2(struct buffer *packed, const lzma_options_lzma *options, size_t len, size_t flush)
{
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, (void *)options}, {LZMA_VLI_UNKNOWN, NULL}};
  lzma_stream lzma = LZMA_STREAM_INIT;
  size_t room = 2 * len + 100000;
  CLEANUP(freep) uint8_t *bytes = xcalloc(1, room);
  REQUIRE(lzma_raw_encoder(&lzma, filters) == LZMA_OK);
  lzma.next_out = bytes;
  lzma.avail_out = room;
  for (size_t at = 0, n; at < len || at == 0; at += n) {
    n = flush > 0 && flush < len - at ? flush : len - at;
    lzma.next_in = (const uint8_t *)data + at;
    lzma.avail_in = n;
    bool is_last = at + n == len;
    REQUIRE(lzma_code(&lzma, is_last ? LZMA_FINISH : LZMA_SYNC_FLUSH) == LZMA_STREAM_END);
    if (is_last)
      break;
  }
  (void)buffer_append(packed, bytes, room - lzma.avail_out);
  lzma_end(&lzma);
}

static lzma_options_lzma
options_of(uint32_t preset)
{
  lzma_options_lzma options;
  REQUIRE(!lzma_lzma_preset(&options, preset));
  options.dict_size = DICT_SIZE;
  return options;
}

/* Goes on in another one. */
static struct lzma2 *
restart(struct lzma2 *lzma2, struct decoder_memory *memory, uint32_t dict_size)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(buffer_clear) struct buffer body = {0};
  CLEANUP(state_sealer_freep) struct state_sealer *sealer = state_sealer_new(FORM, &state);
  size_t used;
  lzma2_save(lzma2, sealer);
  REQUIRE(state_sealer_finish(sealer, NULL) == 0);
  lzma2_free(lzma2);
  REQUIRE(state_unseal(FORM, state.data, state.len, (size_t)4 << 20, &body, &used, NULL) == 0);
  struct state_reader reader = {.at = (unsigned char *)body.data, .left = body.len};
  struct lzma2 *restored = lzma2_new(memory);
  REQUIRE(lzma2_begin(restored, dict_size));
  lzma2_restore(restored, &reader);
  REQUIRE(!reader.failed && reader.left == 0);
  return restored;
}

struct reading {
  uint32_t dict_size;
  size_t in_piece, out_piece; /* at a time; 0: all */
  bool is_restarted;          /* wherever it can be saved */
};

static size_t
least(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* How many bytes came; -1 when it is damaged, -2 when it ends too early. */
static ssize_t
unpack(const struct buffer *packed, const struct reading *how)
{
  struct decoder_memory *memory = decoder_memory_join(NULL);
  struct lzma2 *lzma2 = lzma2_new(memory);
  size_t at = 0, got = 0;
  ssize_t result = -2;
  REQUIRE(lzma2_begin(lzma2, how->dict_size));
  for (;;) {
    size_t in_len = least(packed->len - at, how->in_piece ? how->in_piece : SIZE_MAX);
    size_t out_len = least(sizeof(out) - got, how->out_piece ? how->out_piece : SIZE_MAX);
    struct lzma2_io io = {(const uint8_t *)packed->data + at, in_len, (uint8_t *)out + got,
                          out_len};
    if (!lzma2_run(lzma2, &io)) {
      CU_ASSERT(!lzma2_run(lzma2, &io) && !lzma2_is_settled(lzma2));
      result = -1;
      break;
    }
    at += in_len - io.in_len;
    got += out_len - io.out_len;
    if (lzma2_is_done(lzma2))
      result = (ssize_t)got;
    if (lzma2_is_done(lzma2) || (io.in_len == in_len && io.out_len == out_len))
      break;
    if (how->is_restarted && lzma2_is_settled(lzma2))
      lzma2 = restart(lzma2, memory, how->dict_size);
  }
  lzma2_free(lzma2);
  decoder_memory_leave(memory);
  return result;
}

static void
check_unpacks(const lzma_options_lzma *options, size_t len, size_t flush)
{
  const struct reading ways[] = {
      {options->dict_size, 0, 0, false},    {options->dict_size, 1, 7001, false},
      {options->dict_size, 2, 0, false},    {options->dict_size, 3, 50000, false},
      {options->dict_size, 977, 13, false}, {options->dict_size, 0, 0, true},
      {options->dict_size, 4999, 100, true}};
  CLEANUP(buffer_clear) struct buffer packed = {0};
  pack_lzma2(&packed, options, len, flush);
  for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
    memset(out, 0x55, sizeof(out));
    CHECK_NUMBER(unpack(&packed, &ways[i]), len);
    CU_ASSERT(memcmp(out, data, len) == 0);
  }
}

/* ---- what encoders make ------------------------------------------------------------------------
 */

static void
test_every_preset(void)
{
  pack_fill(data, DATA_LEN, 1);
  for (uint32_t preset = 0; preset <= 9; preset++) {
    lzma_options_lzma options = options_of(preset);
    check_unpacks(&options, DATA_LEN, 0);
    options = options_of(preset | LZMA_PRESET_EXTREME);
    check_unpacks(&options, DATA_LEN / 3, 0);
  }
}

static void
test_every_setting(void)
{
  pack_fill(data, DATA_LEN, 2);
  for (uint32_t lc = 0; lc <= 4; lc++)
    for (uint32_t lp = 0; lc + lp <= 4; lp++)
      for (uint32_t pb = 0; pb <= 4; pb++) {
        lzma_options_lzma options = options_of(1);
        options.lc = lc;
        options.lp = lp;
        options.pb = pb;
        check_unpacks(&options, 30000, 7777);
      }
}

/* The ring is gone round many times, in steps that end anywhere. */
static void
test_small_dictionaries(void)
{
  static const uint32_t sizes[] = {4096, 6144, 8192, 65536};
  pack_fill(data, DATA_LEN, 3);
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    lzma_options_lzma options = options_of(6);
    options.dict_size = sizes[i];
    check_unpacks(&options, DATA_LEN, 0);
    check_unpacks(&options, DATA_LEN, 1237);
  }
}

static void
test_what_does_not_compress(void)
{
  uint32_t random = 1;
  for (size_t i = 0; i < DATA_LEN; i++) {
    random = random * 1664525 + 1013904223;
    data[i] = (char)(random >> 24);
  }
  lzma_options_lzma options = options_of(1);
  check_unpacks(&options, DATA_LEN, 0);
  memset(data + DATA_LEN / 2, 'x', DATA_LEN / 4); /* and something that does */
  options.dict_size = 4096;
  check_unpacks(&options, DATA_LEN, 0);
}

static void
test_short_data(void)
{
  pack_fill(data, DATA_LEN, 4);
  lzma_options_lzma options = options_of(6);
  for (size_t len = 0; len < 40; len++)
    check_unpacks(&options, len, 0);
}

/* ---- what they do not --------------------------------------------------------------------------
 */

#define BYTES(text) (text), sizeof(text) - 1

static void
test_chunks_keep_to_the_rules(void)
{
  static const struct {
    const char *name, *bytes;
    size_t len;
    ssize_t result;
  } rows[] = {
      {"nothing", BYTES(""), -2},
      {"the end", BYTES("\0"), 0},
      {"bytes as they are", BYTES("\1\0\1ab\0"), 2},
      {"twice", BYTES("\1\0\0a\2\0\0b\0"), 2},
      {"the dictionary anew", BYTES("\1\0\0a\1\0\0b\0"), 2},
      {"no dictionary", BYTES("\2\0\0a\0"), -1},
      {"no such chunk", BYTES("\3"), -1},
      {"nor this one", BYTES("\x7f"), -1},
      {"no properties", BYTES("\1\0\0a\x80\0\0\0\4\0\0\0\0\0\0"), -1},
      {"nor with a state", BYTES("\1\0\0a\xa0\0\0\0\4\0\0\0\0\0\0"), -1},
      {"properties too large", BYTES("\xe0\0\0\0\4\xe1\0\0\0\0\0\0"), -1},
      {"lc and lp too large", BYTES("\xe0\0\0\0\4\x0d\0\0\0\0\0\0"), -1},
      {"a literal", BYTES("\xe0\0\0\0\5\x5d\0\0\0\0\0\0\0"), 1},
      {"a first byte that is not 0", BYTES("\xe0\0\0\0\4\x5d\1\0\0\0\0\0"), -1},
      {"too short to be begun", BYTES("\xe0\0\0\0\3\x5d\0\0\0\0\0"), -1},
      {"longer than what it makes", BYTES("\xe0\0\0\0\6\x5d\0\0\0\0\0\0\0\0"), -1},
      {"shorter than what it makes", BYTES("\xe0\0\xff\0\4\x5d\0\0\0\0\0\0"), -1},
      {"a match with nothing before it", BYTES("\xe0\0\0\0\4\x5d\0\xff\xff\xff\xff\0"), -1},
      {"cut off in its header", BYTES("\xe0\0"), -2},
      {"cut off in its data", BYTES("\1\0\1a"), -2},
  };
  const struct reading ways[] = {
      {4096, 0, 0, false}, {4096, 1, 1, true}, {4096, 2, 1, false}, {4096, 3, 0, true}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    for (size_t way = 0; way < 4; way++) {
      struct buffer packed = {.data = (char *)rows[i].bytes, .len = rows[i].len};
      CHECK_ROW(unpack(&packed, &ways[way]) == rows[i].result, rows[i].name);
    }
}

static void
test_damage_does_no_harm(void)
{
  CLEANUP(buffer_clear) struct buffer packed = {0};
  lzma_options_lzma options = options_of(1);
  const struct reading ways[] = {{4096, 0, 0, false}, {4096, 77, 199, true}};
  options.dict_size = 4096;
  pack_fill(data, DATA_LEN, 5);
  pack_lzma2(&packed, &options, 20000, 3001);
  for (size_t i = 0; i < packed.len; i++)
    for (unsigned bit = i % 3; bit < 8; bit += 3) {
      packed.data[i] = (char)(packed.data[i] ^ 1 << bit);
      (void)unpack(&packed, &ways[i % 2]);
      packed.data[i] = (char)(packed.data[i] ^ 1 << bit);
    }
  CHECK_NUMBER(unpack(&packed, &ways[0]), 20000);
}

/* ---- states that nobody wrote ------------------------------------------------------------------
 */

/* The state behind the first chunks, without its seal. */
static size_t
save_early(const struct buffer *packed, struct decoder_memory *memory, struct buffer *body)
{
  CLEANUP(lzma2_freep) struct lzma2 *lzma2 = lzma2_new(memory);
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(state_sealer_freep) struct state_sealer *sealer = state_sealer_new(FORM, &state);
  struct lzma2_io io = {(const uint8_t *)packed->data, packed->len, (uint8_t *)out, sizeof(out)};
  size_t used;
  REQUIRE(lzma2_begin(lzma2, 4096));
  while (sizeof(out) - io.out_len < 5000 || !lzma2_is_settled(lzma2))
    REQUIRE(lzma2_run(lzma2, &io));
  lzma2_save(lzma2, sealer);
  REQUIRE(state_sealer_finish(sealer, NULL) == 0);
  REQUIRE(state_unseal(FORM, state.data, state.len, 1 << 20, body, &used, NULL) == 0);
  return packed->len - io.in_len;
}

/* Whatever can be restored can be gone on with. */
static bool
go_on(const struct buffer *body, const struct buffer *packed, size_t at,
      struct decoder_memory *memory)
{
  CLEANUP(lzma2_freep) struct lzma2 *lzma2 = lzma2_new(memory);
  struct state_reader reader = {.at = (unsigned char *)body->data, .left = body->len};
  REQUIRE(lzma2_begin(lzma2, 4096));
  lzma2_restore(lzma2, &reader);
  if (reader.failed)
    return false;
  struct lzma2_io io = {(const uint8_t *)packed->data + at, packed->len - at, (uint8_t *)out,
                        sizeof(out)};
  while (lzma2_run(lzma2, &io) && !lzma2_is_done(lzma2) && io.in_len > 0)
    ;
  return true;
}

static void
test_a_wrong_state_does_no_harm(void)
{
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(buffer_clear) struct buffer body = {0};
  struct decoder_memory *memory = decoder_memory_join(NULL);
  lzma_options_lzma options = options_of(1);
  options.dict_size = 4096;
  pack_fill(data, DATA_LEN, 6);
  pack_lzma2(&packed, &options, 20000, 501);
  size_t at = save_early(&packed, memory, &body), refused = 0;
  CU_ASSERT(go_on(&body, &packed, at, memory));
  for (size_t i = 0; i < body.len; i += i < 4200 && i > 20 ? 97 : i > 6000 ? 31 : 1)
    for (unsigned flip = 1; flip < 0x100; flip = flip * 2 + 1) {
      body.data[i] = (char)(body.data[i] ^ (int)flip);
      refused += !go_on(&body, &packed, at, memory);
      body.data[i] = (char)(body.data[i] ^ (int)flip);
    }
  CU_ASSERT(refused > 0);
  size_t len = body.len;
  for (body.len = 0; body.len < len; body.len += body.len < 20 ? 1 : 101)
    CU_ASSERT(!go_on(&body, &packed, at, memory));
  decoder_memory_leave(memory);
}

static void
test_too_much_memory_is_not_taken(void)
{
  struct decoder_memory *memory = decoder_memory_join(NULL);
  CLEANUP(lzma2_freep) struct lzma2 *lzma2 = lzma2_new(memory);
  CU_ASSERT(!lzma2_begin(lzma2, (uint32_t)1 << 30));
  CU_ASSERT(lzma2_begin(lzma2, (uint32_t)64 << 20));
  CU_ASSERT(lzma2_begin(lzma2, (uint32_t)96 << 20)); /* instead */
  CU_ASSERT(!lzma2_can_have(4095));
  lzma2_free(TAKE(lzma2));
  decoder_memory_leave(memory);
}

UNIT_MAIN("populator/format/lzma2", UNIT_TEST(test_every_preset), UNIT_TEST(test_every_setting),
          UNIT_TEST(test_small_dictionaries), UNIT_TEST(test_what_does_not_compress),
          UNIT_TEST(test_short_data), UNIT_TEST(test_chunks_keep_to_the_rules),
          UNIT_TEST(test_damage_does_no_harm), UNIT_TEST(test_a_wrong_state_does_no_harm),
          UNIT_TEST(test_too_much_memory_is_not_taken))
