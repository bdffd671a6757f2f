/* SPDX-License-Identifier: Apache-2.0 */
/* s3://BUCKET/KEY by a multipart upload: nothing is staged, and the object appears as a whole or
 * not at all. The parts with the beginning, reserve_start(), are sent last, which the store does
 * not mind: it puts them together by their numbers. */
#include <inttypes.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/http/s3_uploads.h"
#include "populator/sink/part_sender.h"
#include "populator/sink/s3_leftover.h"
#include "populator/sink/sinks.h"

struct s3_sink {
  struct sink sink;
  struct http_client *client;
  struct http_options http; /* for one more client, when this one was cancelled */
  struct s3_options options;
  struct sink_ledger *ledger;
  char *bucket;
  const char *key; /* in the label */
  struct s3_upload *upload;
  struct part_sender *sender;
  size_t part_bytes;
  uint64_t reserved_parts;
  unsigned number; /* of the part that is filled */
  char *room;      /* the part that is filled, or NULL */
  size_t len;
};

static void
s3_free(struct s3_sink *s3)
{
  if (!s3)
    return;
  part_sender_free(s3->sender);
  s3_upload_free(s3->upload);
  http_client_free(s3->client);
  free(s3->bucket);
  free(s3->sink.label);
  free(s3);
}

DEFINE_CLEANUP(struct s3_sink *, s3_free)

static int
begin_upload(struct s3_sink *s3, struct error **err)
{
  const struct s3_place place = {
      .client = s3->client, .options = &s3->options, .bucket = s3->bucket, .key = s3->key};
  CLEANUP(freep) char *begun = s3->ledger ? s3_leftover_begin(s3->ledger, &place) : NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (s3_upload_create(s3->client, &s3->options, s3->bucket, s3->key, &s3->upload, &failure) < 0) {
    /* Only of an answer that was lost it is not known whether there is an upload. */
    if (s3->ledger && failure->code != ERROR_UNAVAILABLE && failure->code != ERROR_CANCELLED)
      s3->ledger->forget(s3->ledger);
    return error_set(err, failure->code, "%s", failure->message);
  }
  if (begun && s3_upload_is_repeated(s3->upload))
    s3_leftover_abort_twins(begun, &place, s3_upload_id(s3->upload));
  if (s3->ledger)
    s3_leftover_note(s3->ledger, s3_upload_id(s3->upload));
  return 0;
}

static int
s3_open(const char *url, const struct sink_options *options, uint64_t estimate,
        struct sink **ret_sink, struct error **err)
{
  CLEANUP(s3_freep) struct s3_sink *s3 = xcalloc(1, sizeof(*s3));
  s3->sink.ops = &sink_s3_ops;
  s3->sink.label = xstrdup(url);
  s3->http = options->http;
  s3->options = options->s3;
  s3->ledger = options->ledger;
  s3->number = 1;
  s3->part_bytes = part_sender_part_bytes(estimate);
  s3->sink.start_align = s3->part_bytes;
  if (s3_name_parse(s3->sink.label, &s3->bucket, &s3->key, err) < 0)
    return -1;
  s3->client = http_client_new(&options->http);
  if (begin_upload(s3, err) < 0)
    return error_wrap(err, "%s", url);
  s3->sender = part_sender_new(s3->upload, s3->part_bytes);
  *ret_sink = &TAKE(s3)->sink;
  return 0;
}

static int
s3_reserve_start(struct sink *sink, uint64_t len, struct error **err)
{
  struct s3_sink *s3 = (struct s3_sink *)sink;
  s3->reserved_parts = len / s3->part_bytes;
  if (s3->reserved_parts >= S3_PARTS_MAX)
    return error_set(err, ERROR_OUT_OF_RANGE, "%s: %" PRIu64 " parts: too many", sink->label,
                     s3->reserved_parts);
  s3->number += (unsigned)s3->reserved_parts;
  return 0;
}

static void
send_part(struct s3_sink *s3)
{
  if (!s3->room)
    return;
  part_sender_send(s3->sender, TAKE(s3->room), s3->number++, s3->len);
  s3->len = 0;
}

/* data NULL: zeros. */
static int
add(struct s3_sink *s3, const char *data, uint64_t len, struct error **err)
{
  while (len > 0) {
    if (!s3->room && !(s3->room = part_sender_room(s3->sender, err)))
      return error_wrap(err, "%s", s3->sink.label);
    size_t room = s3->part_bytes - s3->len;
    size_t n = len < room ? (size_t)len : room;
    if (data) {
      memcpy(s3->room + s3->len, data, n);
      data += n;
    } else {
      memset(s3->room + s3->len, 0, n);
    }
    s3->len += n;
    len -= n;
    if (s3->len == s3->part_bytes)
      send_part(s3);
  }
  return 0;
}

static int
s3_append(struct sink *sink, const void *data, size_t len, struct error **err)
{
  return add((struct s3_sink *)sink, data, len, err);
}

static int
s3_append_zeros(struct sink *sink, uint64_t len, struct error **err)
{
  return add((struct s3_sink *)sink, NULL, len, err);
}

/* With the first of it the part before is the object's last one. */
static int
s3_write_start(struct sink *sink, const void *data, size_t len, struct error **err)
{
  struct s3_sink *s3 = (struct s3_sink *)sink;
  if (s3->reserved_parts > 0) {
    s3->reserved_parts = 0;
    send_part(s3);
    s3->number = 1;
  }
  return add(s3, data, len, err);
}

static void
s3_cancel(struct sink *sink)
{
  http_client_cancel(((struct s3_sink *)sink)->client);
}

/* With a client of its own: the other one may have been cancelled. If the store does not answer,
 * the ledger keeps the matter for the next export. */
static void
s3_abort(struct sink *sink)
{
  struct s3_sink *s3 = (struct s3_sink *)sink;
  http_client_cancel(s3->client); /* nobody waits for parts any more */
  part_sender_free(TAKE(s3->sender));
  CLEANUP(http_client_freep) struct http_client *client = http_client_new(&s3->http);
  if (s3_uploads_abort(client, &s3->options, s3->bucket, s3->key, s3_upload_id(s3->upload), NULL) ==
          0 &&
      s3->ledger)
    s3->ledger->forget(s3->ledger);
}

/* Whoever asks for it asks again later. */
#define DISCARD_RETRIES 1
#define DISCARD_STALL_S 10

static int
s3_discard(const char *url, const struct sink_options *options, const char *record,
           struct error **err)
{
  CLEANUP(freep) char *bucket = NULL;
  struct s3_place place = {.options = &options->s3};
  struct http_options http = options->http;
  http.retries = DISCARD_RETRIES;
  http.stall_s = DISCARD_STALL_S;
  if (s3_name_parse(url, &bucket, &place.key, err) < 0)
    return -1;
  CLEANUP(http_client_freep) struct http_client *client = http_client_new(&http);
  place.client = client;
  place.bucket = bucket;
  return s3_leftover_discard(record, &place, err);
}

static int
complete(struct s3_sink *s3, struct error **err)
{
  /* An object must have a part, be it empty. */
  if (s3->number == 1 && !s3->room && !(s3->room = part_sender_room(s3->sender, err)))
    return -1;
  send_part(s3);
  if (part_sender_drain(s3->sender, err) < 0)
    return -1;
  return s3_upload_complete(s3->upload, err);
}

static int
s3_commit(struct sink *sink, struct error **err)
{
  struct s3_sink *s3 = (struct s3_sink *)sink;
  if (complete(s3, err) < 0)
    return error_wrap(err, "%s", sink->label);
  if (s3->ledger)
    s3->ledger->forget(s3->ledger);
  return 0;
}

static void
s3_close(struct sink *sink)
{
  s3_free((struct s3_sink *)sink);
}

const struct sink_ops sink_s3_ops = {
    .scheme = "s3:",
    .open = s3_open,
    .reserve_start = s3_reserve_start,
    .append = s3_append,
    .append_zeros = s3_append_zeros,
    .write_start = s3_write_start,
    .cancel = s3_cancel,
    .discard = s3_discard,
    .commit = s3_commit,
    .abort = s3_abort,
    .close = s3_close,
};
