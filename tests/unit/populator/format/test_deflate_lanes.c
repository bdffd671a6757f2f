/* SPDX-License-Identifier: Apache-2.0 */
/* Where the processor has no lanes, there is nothing but that to be seen. */
#include "populator/format/deflate_lanes.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "tests/format/pack.h"
#include "tests/unit/unit.h"

#define STREAMS ((size_t)40)
#define OUT_MAX ((size_t)65536)
#define ROUNDS 300

static char data[STREAMS][OUT_MAX];

/* Memory that ends where nothing may be touched any more. */
struct fenced {
  uint8_t *end;
  void *mapped;
  size_t bytes;
};

static void
fenced_init(struct fenced *fenced, size_t bytes)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  fenced->bytes = (bytes + 2 * page - 1) / page * page;
  fenced->mapped =
      mmap(NULL, fenced->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(fenced->mapped != MAP_FAILED);
  fenced->end = (uint8_t *)fenced->mapped + fenced->bytes - page;
  REQUIRE(mprotect(fenced->end, page, PROT_NONE) == 0);
}

static void
fenced_clear(struct fenced *fenced)
{
  (void)munmap(fenced->mapped, fenced->bytes);
}

/* Something that compresses, but not well: the packer chooses codes for it. */
static void
fill(char *out, size_t len, unsigned seed)
{
  static const char words[] = "what is read from one disk is written to another ";
  uint32_t random = seed * 2654435761U + 1;
  for (size_t at = 0; at < len;) {
    random = random * 1664525 + 1013904223;
    size_t part = 1 + (random >> 24) % 90;
    size_t from = (random >> 8) % 40;
    for (size_t i = 0; i < part && at < len; i++) {
      random = random * 1664525 + 1013904223;
      bool is_odd = random >> 30 == 0;
      out[at++] = (char)(is_odd ? random >> 25 : (uint32_t)words[(from + i) % 49]);
    }
  }
}

/* A short stream has no codes of its own. */
static bool
is_short(size_t i)
{
  return i % 5 == 4;
}

/* Streams of different sizes, each packed, with its place in one buffer. */
struct batch {
  struct buffer packed;
  size_t offsets[STREAMS + 1];
  size_t lengths[STREAMS]; /* of what is in them */
};

static void
batch_make(struct batch *batch, unsigned seed, enum pack_blocks blocks)
{
  *batch = (struct batch){0};
  for (size_t i = 0; i < STREAMS; i++) {
    batch->lengths[i] = is_short(i) ? 1 + i * 7 : OUT_MAX / (1 + i % 3);
    fill(data[i], OUT_MAX, seed * 100 + (unsigned)i);
    batch->offsets[i] = batch->packed.len;
    pack_deflate(&batch->packed, data[i], batch->lengths[i], blocks);
  }
  batch->offsets[STREAMS] = batch->packed.len;
}

static void
batch_streams(const struct batch *batch, const uint8_t *packed, uint8_t *out,
              struct deflate_stream *streams)
{
  for (size_t i = 0; i < STREAMS; i++) {
    streams[i] = (struct deflate_stream){.in = packed + batch->offsets[i],
                                         .in_len = batch->offsets[i + 1] - batch->offsets[i],
                                         .out = out,
                                         .out_len = batch->lengths[i],
                                         .is_done = true};
    out += batch->lengths[i];
  }
}

static size_t
batch_out_bytes(const struct batch *batch)
{
  size_t sum = 0;
  for (size_t i = 0; i < STREAMS; i++)
    sum += batch->lengths[i];
  return sum;
}

/* Those that are done are right, and those that are not short are done, or none is. */
static void
check_streams(const struct deflate_stream *streams, bool is_done)
{
  for (size_t i = 0; i < STREAMS; i++) {
    if (streams[i].is_done)
      CU_ASSERT(memcmp(streams[i].out, data[i], streams[i].out_len) == 0);
    if (!is_short(i))
      CHECK_NUMBER(streams[i].is_done, is_done);
  }
}

/* Input and output of all lie one behind the other, up to a fence: whoever writes or reads a byte
 * too much spoils another stream, or dies. */
static void
check_batch(struct deflate_lanes *lanes, unsigned seed, enum pack_blocks blocks, bool is_done)
{
  struct batch batch;
  struct fenced in, out;
  struct deflate_stream streams[STREAMS];
  batch_make(&batch, seed, blocks);
  fenced_init(&in, batch.packed.len);
  fenced_init(&out, batch_out_bytes(&batch));
  uint8_t *packed = in.end - batch.packed.len;
  memcpy(packed, batch.packed.data, batch.packed.len);
  batch_streams(&batch, packed, out.end - batch_out_bytes(&batch), streams);
  deflate_lanes_inflate(lanes, streams, STREAMS);
  check_streams(streams, is_done);
  fenced_clear(&in);
  fenced_clear(&out);
  buffer_clear(&batch.packed);
}

static void
test_streams_are_inflated(void)
{
  CLEANUP(deflate_lanes_freep) struct deflate_lanes *lanes = deflate_lanes_new();
  for (unsigned seed = 0; lanes && seed < 20; seed++)
    check_batch(lanes, seed, PACK_DYNAMIC, true);
}

static void
test_blocks_without_codes_of_their_own_are_left(void)
{
  CLEANUP(deflate_lanes_freep) struct deflate_lanes *lanes = deflate_lanes_new();
  if (!lanes)
    return;
  check_batch(lanes, 1, PACK_STORED, false);
  check_batch(lanes, 2, PACK_FIXED, false);
  check_batch(lanes, 3, PACK_DYNAMIC, true); /* and do no harm */
}

static void
test_few_streams_or_none_are_fine(void)
{
  CLEANUP(deflate_lanes_freep) struct deflate_lanes *lanes = deflate_lanes_new();
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(freep) uint8_t *out = xcalloc(1, OUT_MAX);
  if (!lanes)
    return;
  fill(data[0], OUT_MAX, 5);
  pack_deflate(&packed, data[0], OUT_MAX, PACK_DYNAMIC);
  struct deflate_stream stream = {
      .in = (const uint8_t *)packed.data, .in_len = packed.len, .out = out, .out_len = OUT_MAX};
  deflate_lanes_inflate(lanes, &stream, 0);
  CU_ASSERT_FALSE(stream.is_done);
  deflate_lanes_inflate(lanes, &stream, 1);
  CU_ASSERT_TRUE(stream.is_done);
  CU_ASSERT(memcmp(out, data[0], OUT_MAX) == 0);
  stream.in_len = 0;
  deflate_lanes_inflate(lanes, &stream, 1);
  CU_ASSERT_FALSE(stream.is_done);
}

static void
test_what_makes_more_or_less_is_left(void)
{
  CLEANUP(deflate_lanes_freep) struct deflate_lanes *lanes = deflate_lanes_new();
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(freep) uint8_t *out = xcalloc(1, OUT_MAX);
  if (!lanes)
    return;
  fill(data[0], OUT_MAX, 6);
  pack_deflate(&packed, data[0], OUT_MAX / 2, PACK_DYNAMIC);
  for (size_t len = OUT_MAX / 2 - 600; len <= OUT_MAX / 2 + 600; len++) {
    struct deflate_stream stream = {
        .in = (const uint8_t *)packed.data, .in_len = packed.len, .out = out, .out_len = len};
    deflate_lanes_inflate(lanes, &stream, 1);
    CHECK_NUMBER(stream.is_done, len == OUT_MAX / 2);
  }
}

/* Whatever is called done is what the reference makes of the same bytes. */
static void
test_damage_is_noticed_or_harmless(void)
{
  CLEANUP(deflate_lanes_freep) struct deflate_lanes *lanes = deflate_lanes_new();
  CLEANUP(freep) uint8_t *single = xcalloc(1, OUT_MAX);
  struct batch batch;
  struct deflate_stream streams[STREAMS];
  batch_make(&batch, 7, PACK_DYNAMIC);
  CLEANUP(freep) uint8_t *out = xcalloc(1, batch_out_bytes(&batch));
  uint32_t random = 1;
  size_t differing = 0;
  for (int round = 0; lanes && round < ROUNDS; round++) {
    for (size_t i = 0; i < STREAMS; i++) {
      random = random * 1664525 + 1013904223;
      size_t len = batch.offsets[i + 1] - batch.offsets[i];
      size_t at = batch.offsets[i] + (round % 2 ? random % len : random % (len < 90 ? len : 90));
      batch.packed.data[at] = (char)(batch.packed.data[at] ^ (1 << (random >> 29)));
    }
    batch_streams(&batch, (const uint8_t *)batch.packed.data, out, streams);
    deflate_lanes_inflate(lanes, streams, STREAMS);
    for (size_t i = 0; i < STREAMS; i++) {
      const struct deflate_stream *stream = &streams[i];
      if (stream->is_done && (!pack_inflate(stream->in, stream->in_len, single, stream->out_len) ||
                              memcmp(single, stream->out, stream->out_len) != 0))
        differing++;
    }
  }
  CHECK_NUMBER(differing, 0);
  buffer_clear(&batch.packed);
}

UNIT_MAIN("populator/format/deflate_lanes", UNIT_TEST(test_streams_are_inflated),
          UNIT_TEST(test_blocks_without_codes_of_their_own_are_left),
          UNIT_TEST(test_few_streams_or_none_are_fine),
          UNIT_TEST(test_what_makes_more_or_less_is_left),
          UNIT_TEST(test_damage_is_noticed_or_harmless))
