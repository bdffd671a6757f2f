/* SPDX-License-Identifier: Apache-2.0 */
/* A zstd file, read by libzstd alone, by the stream at once, and by one process after the other:
 * the same comes out, or all refuse it. The first byte says how large the pieces are in which it is
 * read, the second how often it is gone on with in another process. */
#define ZSTD_STATIC_LINKING_ONLY /* what a frame's header says */
#include <string.h>
#include <zstd.h>

#include "lib/base/memory.h"
#include "populator/format/zstd.h"
#include "tests/format/memory_stream.h"
#include "tests/fuzz/fuzz.h"

/* A few bytes can make as much as they like. */
#define OUT_MAX ((size_t)512 << 10)
#define RESTARTS_MAX 16
/* The least that libzstd remembers, whatever the window is. */
#define REMEMBERED ((size_t)128 << 10)

struct outcome {
  char *out;
  size_t len;
  bool has_ended; /* without an error */
};

/* As libzstd's own programs read a file. */
static void
read_plainly(const uint8_t *data, size_t size, struct outcome *outcome)
{
  ZSTD_DCtx *context = ZSTD_createDCtx();
  ZSTD_inBuffer in = {.src = data, .size = size};
  ZSTD_outBuffer out = {.dst = outcome->out, .size = OUT_MAX};
  CHECK(context);
  (void)ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, ZSTD_STREAM_WINDOW_LOG_MAX);
  size_t r = 1;
  for (size_t before = SIZE_MAX; !ZSTD_isError(r) && out.pos < OUT_MAX;) {
    if (in.pos + out.pos == before || (in.pos == in.size && r == 0))
      break;
    before = in.pos + out.pos;
    /* a block at a time: what is read at once may refer to more than its window */
    ZSTD_inBuffer part = {.src = data, .size = in.pos < size ? in.pos + 1 : size, .pos = in.pos};
    r = ZSTD_decompressStream(context, &out, &part);
    in.pos = part.pos;
  }
  outcome->len = out.pos;
  outcome->has_ended = r == 0 && in.pos == in.size;
  (void)ZSTD_freeDCtx(context);
}

/* Goes on in a new stream. False when what lies ahead is damaged: reading tells that too. */
static bool
restart(const uint8_t *data, size_t size, size_t piece, struct stream **stream)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  size_t used;
  if ((*stream)->ops->save(*stream, &state, &err) < 0)
    return err->code == ERROR_RESOURCE_EXHAUSTED; /* only no place to stop here */
  size_t position = memory_stream_position((*stream)->below);
  stream_close(TAKE(*stream));
  CHECK(zstd_stream_restore(memory_stream_new(data, size, position, piece), state.data, state.len,
                            &used, stream, NULL) == 0);
  CHECK(used == state.len);
  return true;
}

/* Reads in pieces, and every now and then goes on in a new stream. */
static void
read_zstd(const uint8_t *data, size_t size, size_t piece, size_t restart_every,
          struct outcome *outcome)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CHECK(zstd_stream_new(memory_stream_new(data, size, 0, piece), &stream, NULL) == 0);
  for (size_t restarts = 0; outcome->len < OUT_MAX; restarts++) {
    size_t room = OUT_MAX - outcome->len;
    if (restarts < RESTARTS_MAX && restart_every > 0 && room > restart_every)
      room = restart_every;
    ssize_t n = stream_read(stream, outcome->out + outcome->len, room, NULL);
    outcome->has_ended = n == 0;
    if (n <= 0)
      return;
    CHECK((size_t)n <= room);
    outcome->len += (size_t)n;
    if (restart_every > 0 && restarts < RESTARTS_MAX && !restart(data, size, piece, &stream))
      return;
  }
}

/* Whether nothing can refer to what lies before its window: libzstd does not refuse that, and finds
 * there what it happens to remember. A checksum that is right says so too. */
static bool
stays_within_windows(const uint8_t *data, size_t size, size_t len)
{
  while (size > 0) {
    ZSTD_frameHeader header;
    if (ZSTD_getFrameHeader(&header, data, size) != 0)
      break;
    if (header.frameType == ZSTD_frame && !header.checksumFlag && header.windowSize < len)
      return false;
    size_t frame = ZSTD_findFrameCompressedSize(data, size);
    if (ZSTD_isError(frame))
      break;
    data += frame;
    size -= frame;
  }
  return true;
}

static void
compare(const struct outcome *plain, const struct outcome *other, bool is_proper)
{
  size_t common = plain->len < other->len ? plain->len : other->len;
  if (plain->len < REMEMBERED || (is_proper && plain->has_ended))
    CHECK(memcmp(plain->out, other->out, common) == 0);
  if (plain->len == OUT_MAX || !is_proper)
    return;
  CHECK(plain->has_ended == other->has_ended);
  CHECK(!plain->has_ended || plain->len == other->len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static char room[3][OUT_MAX];
  if (size < 2)
    return 0;
  struct outcome plain = {.out = room[0]}, whole = {.out = room[1]}, restarted = {.out = room[2]};
  size_t piece = data[0];
  size_t restart_every = 1 + (size_t)data[1] * data[1];
  data += 2;
  size -= 2;
  read_plainly(data, size, &plain);
  read_zstd(data, size, piece, 0, &whole);
  read_zstd(data, size, 0, restart_every, &restarted);
  compare(&plain, &whole, true);
  compare(&plain, &restarted, stays_within_windows(data, size, plain.len));
  return 0;
}
