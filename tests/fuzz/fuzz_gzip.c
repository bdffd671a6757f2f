/* SPDX-License-Identifier: Apache-2.0 */
/* A gzip file, read in large pieces, in small ones, and by one process after the other: the same
 * comes out, or all refuse it. The first byte says how. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/gzip.h"
#include "tests/format/memory_stream.h"
#include "tests/fuzz/fuzz.h"

/* A few bytes can make as much as they like. */
#define OUT_MAX ((size_t)256 << 10)
#define RESTARTS_MAX 8

struct outcome {
  char *out;
  size_t len;
  bool has_ended; /* without an error */
};

/* Goes on in a new stream. False when what lies ahead is damaged: reading tells that too. */
static bool
restart(const uint8_t *data, size_t size, size_t piece, struct stream **stream)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  size_t used;
  if ((*stream)->ops->save(*stream, &state, &err) < 0) {
    CHECK(err->code == ERROR_DATA_LOSS || err->code == ERROR_RESOURCE_EXHAUSTED);
    return err->code == ERROR_RESOURCE_EXHAUSTED; /* only no place to stop here */
  }
  size_t position = memory_stream_position((*stream)->below);
  stream_close(TAKE(*stream));
  CHECK(gzip_stream_restore(memory_stream_new(data, size, position, piece), state.data, state.len,
                            &used, stream, NULL) == 0);
  CHECK(used == state.len);
  return true;
}

/* Reads in pieces, and every now and then goes on in a new stream. */
static void
read_gzip(const uint8_t *data, size_t size, size_t piece, size_t restart_every,
          struct outcome *outcome)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  outcome->out = xcalloc(1, OUT_MAX);
  CHECK(gzip_stream_new(memory_stream_new(data, size, 0, piece), &stream, NULL) == 0);
  size_t since = 0, restarts = 0;
  while (outcome->len < OUT_MAX) {
    size_t room = OUT_MAX - outcome->len;
    if (restart_every > 0 && room > restart_every)
      room = restart_every;
    ssize_t n = stream_read(stream, outcome->out + outcome->len, room, NULL);
    outcome->has_ended = n == 0;
    if (n <= 0)
      return;
    CHECK((size_t)n <= room);
    outcome->len += (size_t)n;
    since += (size_t)n;
    if (restart_every == 0 || since < restart_every || restarts == RESTARTS_MAX)
      continue;
    since = 0;
    restarts++;
    if (!restart(data, size, piece, &stream))
      return;
  }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size == 0)
    return 0;
  struct outcome whole = {0}, pieces = {0}, restarted = {0};
  size_t piece = 1 + data[0] % 64;
  data++;
  size--;
  read_gzip(data, size, 0, 0, &whole);
  read_gzip(data, size, piece, 0, &pieces);
  read_gzip(data, size, 100 * piece, 97 * piece, &restarted);
  const struct outcome *others[] = {&pieces, &restarted};
  for (size_t i = 0; i < 2; i++) {
    const struct outcome *other = others[i];
    size_t common = whole.len < other->len ? whole.len : other->len;
    CHECK(memcmp(whole.out, other->out, common) == 0);
    CHECK(whole.has_ended == other->has_ended);
    CHECK(!whole.has_ended || whole.len == other->len);
  }
  free(whole.out);
  free(pieces.out);
  free(restarted.out);
  return 0;
}
