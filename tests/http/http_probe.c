/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a URL through populator/source, as one stream or as many pieces at once, and prints what
 * came of it as one JSON object. Arguments: see arguments.h. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "tests/http/arguments.h"

#define THREADS_MAX 64
#define SIZE_MAX_BYTES ((uint64_t)1 << 30)

static void
sleep_ms(uint64_t ms)
{
  struct timespec ts = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
  (void)nanosleep(&ts, NULL);
}

struct pieces {
  const struct arguments *arguments;
  struct source *source;
  char *data;
  atomic_uint_fast64_t next;
  pthread_mutex_t mutex;
  struct error *err; /* the first */
};

static void
fail(struct pieces *pieces, struct error *err)
{
  (void)pthread_mutex_lock(&pieces->mutex);
  if (pieces->err)
    error_free(err);
  else
    pieces->err = err;
  (void)pthread_mutex_unlock(&pieces->mutex);
  atomic_store(&pieces->next, pieces->source->size);
}

static void *
read_pieces(void *arg)
{
  struct pieces *pieces = arg;
  struct source *source = pieces->source;
  uint64_t chunk = pieces->arguments->chunk;
  for (;;) {
    uint64_t offset = atomic_fetch_add(&pieces->next, chunk);
    if (offset >= source->size)
      return NULL;
    uint64_t left = source->size - offset;
    struct error *err = NULL;
    if (source->ops->read_at(source, pieces->data + offset, left < chunk ? left : chunk, offset,
                             &err) < 0)
      fail(pieces, err);
  }
}

static int
read_parallel(const struct arguments *arguments, struct source *source, struct buffer *out,
              struct error **err)
{
  if (!source->can_seek)
    return error_set(err, ERROR_FAILED_PRECONDITION, "the source cannot seek");
  if (source->size > SIZE_MAX_BYTES)
    return error_set(err, ERROR_OUT_OF_RANGE, "too large for this test");
  struct pieces pieces = {.arguments = arguments, .source = source};
  pieces.data = out->data = xcalloc(source->size + 1, 1);
  out->len = source->size;
  (void)pthread_mutex_init(&pieces.mutex, NULL);
  pthread_t threads[THREADS_MAX];
  size_t count = arguments->threads < THREADS_MAX ? arguments->threads : THREADS_MAX;
  for (size_t i = 0; i < count; i++)
    (void)pthread_create(&threads[i], NULL, read_pieces, &pieces);
  for (size_t i = 0; i < count; i++)
    (void)pthread_join(threads[i], NULL);
  (void)pthread_mutex_destroy(&pieces.mutex);
  *err = pieces.err;
  return pieces.err ? -1 : 0;
}

static int
read_stream(const struct arguments *arguments, struct source *source, struct buffer *out,
            struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  if (source->ops->stream(source, arguments->offset, &stream, err) < 0)
    return -1;
  CLEANUP(freep) char *buf = xcalloc(arguments->read_bytes, 1);
  out->limit = SIZE_MAX_BYTES;
  for (;;) {
    ssize_t got = stream_read(stream, buf, arguments->read_bytes, err);
    if (got <= 0)
      return (int)got;
    if (!buffer_append(out, buf, (size_t)got))
      return error_set(err, ERROR_OUT_OF_RANGE, "too large for this test");
    if (arguments->pause_ms)
      sleep_ms(arguments->pause_ms);
  }
}

static void
print(const struct source *source, const struct buffer *out)
{
  char hex[DIGEST_SHA256_HEX];
  digest_sha256_hex(out->data ? out->data : "", out->len, hex);
  printf("{\"size\": %" PRIu64 ", \"bytes\": %zu, \"can_seek\": %s, \"can_resume\": %s, ",
         source->size == SOURCE_SIZE_UNKNOWN ? 0 : source->size, out->len,
         source->can_seek ? "true" : "false", source->can_resume ? "true" : "false");
  printf("\"is_end_unproven\": %s, ", source->is_end_unproven ? "true" : "false");
  printf("\"is_size_known\": %s, ", source->size == SOURCE_SIZE_UNKNOWN ? "false" : "true");
  arguments_print_text("label", source->label);
  printf(", ");
  arguments_print_text("identity", source->identity);
  printf(", \"sha256\": \"%s\"}\n", hex);
}

struct canceller {
  struct source *source;
  uint64_t after_ms;
};

static void *
cancel_later(void *arg)
{
  struct canceller *canceller = arg;
  sleep_ms(canceller->after_ms);
  canceller->source->ops->cancel(canceller->source);
  return NULL;
}

int
main(int argc, char **argv)
{
  struct arguments arguments;
  arguments_parse(argc, argv, &arguments);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(source_closep) struct source *source = NULL;
  if (source_open(arguments.url, &arguments.options, &source, &err) < 0)
    return arguments_failed(err);
  struct canceller canceller = {.source = source, .after_ms = arguments.cancel_ms};
  pthread_t thread = 0;
  if (arguments.cancel_ms)
    (void)pthread_create(&thread, NULL, cancel_later, &canceller);
  struct buffer out = {0};
  int r = 0;
  if (!arguments.is_open_only)
    r = arguments.is_stream ? read_stream(&arguments, source, &out, &err)
                            : read_parallel(&arguments, source, &out, &err);
  if (arguments.cancel_ms)
    (void)pthread_join(thread, NULL);
  int status = 0;
  if (r < 0)
    status = arguments_failed(err);
  else
    print(source, &out);
  buffer_clear(&out);
  return status;
}
