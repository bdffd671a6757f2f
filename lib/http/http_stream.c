/* SPDX-License-Identifier: Apache-2.0 */
/* What the first answer tells of the file (ETag, Last-Modified, size) goes along with every later
 * request of the stream and is compared in each answer.
 *
 * A server without ranges can only be asked from the start again. Then the bytes that were handed
 * out already come a second time, and a hash over them, kept while they passed, shows whether they
 * are the same: it does not matter whether the server tells versions apart.
 *
 * One that had ranges and has none any more is asked from the start, too, when that does not pass.
 * Nothing was hashed then, so that is done only if ETag or date tell that it is the same file. */
#include "lib/http/http_stream.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/http/http_retry.h"
#include "lib/http/http_transfer.h"

#define FNV_START 14695981039346656037ull
#define FNV_PRIME 1099511628211ull

/* Passing over what was read happens in pieces of this size. */
#define SKIP_BYTES ((size_t)64 << 10)

/* A range that is not heeded may be heeded next time. */
#define IGNORED_MAX 2

struct http_stream {
  struct http_client *client;
  struct http_request request; /* a copy of our own */
  struct http_retry retry;
  struct http_transfer transfer;
  bool is_open;     /* there is a transfer */
  bool is_known;    /* the first answer came */
  bool is_unframed; /* it ends where the connection does */
  bool has_ranges;
  uint64_t total; /* UINT64_MAX: not known */
  uint64_t position;
  uint64_t gained;  /* since the transfer was opened */
  unsigned ignored; /* times that the server, which has ranges, did not heed one */
  uint64_t hash;    /* FNV-1a of all bytes up to position, without ranges */
};

/* Against accidents, not against the server: one that wants to send other bytes can do so anyway.
 */
static uint64_t
hash_add(uint64_t hash, const char *data, size_t len)
{
  for (size_t i = 0; i < len; i++)
    hash = (hash ^ (unsigned char)data[i]) * FNV_PRIME;
  return hash;
}

static void
close_transfer(struct http_stream *stream)
{
  if (stream->is_open)
    http_transfer_end(&stream->transfer);
  stream->is_open = false;
}

/* A file that ends where the connection does cannot be told from one that was cut off. Where the
 * first answer had an end of its own, so must the others. */
static int
check_framing(struct http_stream *stream, struct error **err)
{
  bool will_do = stream->request.or_unframed && (!stream->is_known || stream->is_unframed);
  if (will_do || !http_head_is_unframed(http_transfer_head(&stream->transfer)))
    return 0;
  return error_set(
      err, ERROR_FAILED_PRECONDITION,
      "%s: the server does not say where the file ends, so a broken transfer could not "
      "be told from a complete one",
      stream->transfer.url.label);
}

static void
learn(struct http_stream *stream)
{
  const struct http_head *head = http_transfer_head(&stream->transfer);
  struct http_request *request = &stream->request;
  if (!request->if_match)
    request->if_match = xstrdup(head->etag);
  if (!request->if_unmodified_since)
    request->if_unmodified_since = xstrdup(head->last_modified);
  stream->is_unframed = http_head_is_unframed(head);
  stream->has_ranges = head->status == 206; /* proven, not just said */
  stream->total = head->has_range ? head->range.total : head->content_length;
  if (stream->total == UINT64_MAX && stream->has_ranges && request->if_total)
    stream->total = request->if_total; /* which the answer was found to reach to */
  if (stream->total != UINT64_MAX && !head->content_encoding)
    request->if_total = stream->total;
  stream->is_known = true;
}

/* The answer begins at the start of the file: reads up to the position. *ret_left is what the file
 * lacks of that; hash, NULL: none, goes on over the bytes. */
static int
read_over(struct http_stream *stream, uint64_t *hash, uint64_t *ret_left, struct error **err)
{
  CLEANUP(freep) char *piece = xcalloc(SKIP_BYTES, 1);
  uint64_t left = stream->position;
  for (ssize_t got = 1; left > 0 && got > 0; left -= (uint64_t)got) {
    got = http_transfer_read(&stream->transfer, piece,
                             left < SKIP_BYTES ? (size_t)left : SKIP_BYTES, err);
    if (got < 0)
      return -1;
    if (hash)
      *hash = hash_add(*hash, piece, (size_t)got);
  }
  *ret_left = left;
  return 0;
}

/* Up to the position its bytes must be the same as before. */
static int
pass_over(struct http_stream *stream, struct error **err)
{
  uint64_t hash = FNV_START, left;
  if (stream->position == 0)
    return 0;
  if (read_over(stream, &hash, &left, err) < 0)
    return -1;
  if (left == 0 && hash == stream->hash)
    return 0;
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "%s: the file changed while it was read: read again from the start, it begins "
                   "with other bytes",
                   stream->transfer.url.label);
}

/* The same without a look at the bytes: the answer was found to be of the same version. */
static int
skip_over(struct http_stream *stream, struct error **err)
{
  uint64_t left;
  if (read_over(stream, NULL, &left, err) < 0)
    return -1;
  if (left == 0)
    return 0;
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "%s: the file changed while it was read: it has become shorter",
                   stream->transfer.url.label);
}

/* Whether the whole file will do where a part is asked for. */
static bool
takes_whole(const struct http_stream *stream)
{
  bool is_pinned = stream->request.if_match || stream->request.if_unmodified_since;
  return stream->position == 0 ||
         (stream->has_ranges && stream->ignored >= IGNORED_MAX && is_pinned);
}

/* Whoever has not shown that there are ranges has none. */
static void
on_ignored_range(struct http_stream *stream)
{
  stream->ignored++;
  stream->transfer.exchange.failure.is_transient = stream->is_known;
  stream->transfer.exchange.failure.max_retries = HTTP_RETRIES_ANY;
}

static int
open_transfer(struct http_stream *stream, struct error **err)
{
  struct http_request *request = &stream->request;
  request->has_range = !stream->is_known || stream->has_ranges;
  request->range_offset = stream->position;
  request->or_whole = takes_whole(stream);
  stream->is_open = true;
  stream->gained = 0;
  if (http_transfer_begin(&stream->transfer, stream->client, request, stream->retry.failures > 0,
                          err) < 0) {
    if (stream->transfer.is_range_ignored)
      on_ignored_range(stream);
    return -1;
  }
  long status = http_transfer_head(&stream->transfer)->status;
  if (status != 200 && status != 206)
    return http_transfer_refused(&stream->transfer, err);
  if (check_framing(stream, err) < 0)
    return -1;
  if (!stream->is_known)
    learn(stream);
  if (stream->has_ranges)
    return status == 200 ? skip_over(stream, err) : 0;
  return pass_over(stream, err);
}

static ssize_t
read_once(struct http_stream *stream, void *buf, size_t len, struct error **err)
{
  if (!stream->is_open && open_transfer(stream, err) < 0)
    return -1;
  return len > 0 ? http_transfer_read(&stream->transfer, buf, len, err) : 0;
}

/* read_once() until it succeeds or there is no sense in trying again. */
static ssize_t
read_stubbornly(struct http_stream *stream, void *buf, size_t len, struct error **err)
{
  for (;;) {
    CLEANUP(error_freep) struct error *error = NULL;
    ssize_t got = read_once(stream, buf, len, &error);
    if (got >= 0)
      return got;
    close_transfer(stream);
    http_retry_gained(&stream->retry, stream->gained);
    stream->gained = 0;
    if (!http_retry_again(&stream->retry, &stream->transfer.exchange.failure, &error, err))
      return -1;
  }
}

int
http_stream_open(struct http_client *client, const struct http_request *request, uint64_t offset,
                 struct http_stream **ret_stream, struct error **err)
{
  CLEANUP(http_stream_closep) struct http_stream *stream = xcalloc(1, sizeof(*stream));
  stream->client = client;
  stream->retry.client = client;
  stream->total = UINT64_MAX;
  stream->position = offset;
  stream->hash = FNV_START;
  http_request_copy(&stream->request, request);
  stream->request.range_len = 0;
  if (request->if_total && offset == request->if_total) {
    stream->total = offset; /* no server answers a question for nothing */
    stream->is_known = true;
  } else if (read_stubbornly(stream, NULL, 0, err) < 0) {
    return -1;
  }
  *ret_stream = TAKE(stream);
  return 0;
}

uint64_t
http_stream_total(const struct http_stream *stream)
{
  return stream->total;
}

bool
http_stream_is_unframed(const struct http_stream *stream)
{
  return stream->is_unframed;
}

bool
http_stream_can_resume(const struct http_stream *stream)
{
  return stream->has_ranges;
}

ssize_t
http_stream_read(struct http_stream *stream, void *buf, size_t len, struct error **err)
{
  if (stream->position == stream->total || len == 0)
    return 0;
  ssize_t got = read_stubbornly(stream, buf, len, err);
  if (got <= 0)
    return got;
  if (!stream->has_ranges)
    stream->hash = hash_add(stream->hash, buf, (size_t)got);
  stream->position += (uint64_t)got;
  stream->gained += (uint64_t)got;
  return got;
}

void
http_stream_close(struct http_stream *stream)
{
  if (!stream)
    return;
  close_transfer(stream);
  http_request_copy_clear(&stream->request);
  free(stream);
}
