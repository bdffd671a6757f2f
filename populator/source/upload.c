/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/upload.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/wire.h"
#include "populator/source/sources.h"

#define WAIT_MS 250
#define STREAM_NAME "upload"

struct upload_source {
  struct source source;
  int fd; /* -1: nothing is sent any more */
  atomic_bool is_cancelled;
  bool is_paused;
  bool is_ready_told;
  void (*on_ready)(uint64_t offset);
  upload_look look;
  void *context;
  uint64_t base;      /* of the file: where the last state stands, and the tail begins … */
  struct buffer tail; /* … which was sent … */
  size_t at;          /* … and given out so far */
  bool is_lost;       /* there is no tail; `base` is where the next byte stands */
};

struct upload_stream {
  struct stream stream;
  struct upload_source *upload;
};

bool
source_is_upload(const struct source *source)
{
  return source->ops == &source_upload_ops;
}

static struct upload_source *
upload_of(struct source *source)
{
  return (struct upload_source *)source;
}

/* ---- the tail ---------------------------------------------------------------------------------
 */

void
upload_put_tail(struct source *source, const void *bytes, size_t len)
{
  struct upload_source *upload = upload_of(source);
  upload->tail.len = 0;
  upload->at = 0;
  (void)buffer_append(&upload->tail, bytes, len);
}

bool
upload_tail(const struct source *source, const char **ret_bytes, size_t *ret_len)
{
  const struct upload_source *upload = (const struct upload_source *)source;
  *ret_bytes = upload->tail.data;
  *ret_len = upload->tail.len;
  return !upload->is_lost;
}

uint64_t
upload_position(const struct source *source)
{
  const struct upload_source *upload = (const struct upload_source *)source;
  return upload->base + upload->tail.len;
}

uint64_t
upload_since_state(const struct source *source)
{
  return ((const struct upload_source *)source)->at;
}

void
upload_cut_tail(struct source *source)
{
  struct upload_source *upload = upload_of(source);
  size_t left = upload->tail.len - upload->at;
  if (upload->at > 0 && left > 0)
    memmove(upload->tail.data, upload->tail.data + upload->at, left);
  upload->base += upload->at;
  upload->tail.len = left;
  upload->at = 0;
  upload->is_lost = false;
}

static void
remember(struct upload_source *upload, const void *bytes, size_t len)
{
  if (!upload->is_lost && upload->tail.len + len <= UPLOAD_TAIL_MAX) {
    (void)buffer_append(&upload->tail, bytes, len);
    upload->at += len;
    return;
  }
  upload->base += upload->tail.len + len;
  buffer_clear(&upload->tail);
  upload->at = 0;
  upload->is_lost = true;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

void
upload_set_look(struct source *source, upload_look look, void *context)
{
  upload_of(source)->look = look;
  upload_of(source)->context = context;
}

bool
upload_is_paused(const struct source *source)
{
  return ((const struct upload_source *)source)->is_paused;
}

static int
pause_here(struct upload_source *upload, struct error **err)
{
  upload->is_paused = true;
  return error_set(err, ERROR_CANCELLED, "%llu of the %llu bytes have been sent so far",
                   (unsigned long long)upload_position(&upload->source),
                   (unsigned long long)upload->source.size);
}

static ssize_t
read_pipe(struct upload_source *upload, void *buf, size_t len, struct error **err)
{
  for (;;) {
    struct pollfd waiting = {.fd = upload->fd, .events = POLLIN};
    if (atomic_load(&upload->is_cancelled))
      return pause_here(upload, err);
    if (upload->look && upload->look(upload->context, err) < 0)
      return -1;
    if (poll(&waiting, 1, WAIT_MS) <= 0)
      continue;
    ssize_t got = read(upload->fd, buf, len);
    if (got > 0)
      return got;
    if (got == 0)
      return pause_here(upload, err);
    if (errno != EINTR && errno != EAGAIN)
      return error_set_errno(err, errno, "read what is sent");
  }
}

static ssize_t
upload_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct upload_source *upload = ((struct upload_stream *)stream)->upload;
  size_t behind = upload->tail.len - upload->at;
  if (behind > 0) {
    size_t n = len < behind ? len : behind;
    memcpy(buf, upload->tail.data + upload->at, n);
    upload->at += n;
    return (ssize_t)n;
  }
  uint64_t left = upload->source.size - upload_position(&upload->source);
  if (len > left)
    len = (size_t)left;
  if (len == 0)
    return 0;
  ssize_t got = read_pipe(upload, buf, len, err);
  if (got > 0)
    remember(upload, buf, (size_t)got);
  return got;
}

static int
upload_save(struct stream *stream, struct buffer *state, struct error **err)
{
  const struct upload_source *upload = ((struct upload_stream *)stream)->upload;
  (void)err;
  buffer_append_u64(state, upload->base + upload->at);
  return 0;
}

static void
upload_stream_close(struct stream *stream)
{
  free(stream);
}

static const struct stream_ops stream_ops = {
    .name = STREAM_NAME,
    .read = upload_read,
    .save = upload_save,
    .close = upload_stream_close,
};

/* ---- opening ----------------------------------------------------------------------------------
 */

static void
tell_ready(struct upload_source *upload, uint64_t offset)
{
  if (upload->on_ready && !upload->is_ready_told)
    upload->on_ready(offset);
  upload->is_ready_told = true;
}

void
upload_tell_complete(struct source *source)
{
  tell_ready(upload_of(source), source->size);
}

/* What is in the tail stands there. */
static int
open_at(struct upload_source *upload, uint64_t base, struct stream **ret_stream, struct error **err)
{
  if (upload->source.size < base || upload->source.size - base < upload->tail.len)
    return error_set(err, ERROR_DATA_LOSS, "the saved state of an upload is broken");
  upload->base = base;
  if (upload->fd < 0 && upload_position(&upload->source) < upload->source.size)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "what was uploaded is not there any more: upload it anew");
  struct upload_stream *stream = xcalloc(1, sizeof(*stream));
  stream->stream.ops = &stream_ops;
  stream->upload = upload;
  tell_ready(upload, upload_position(&upload->source));
  *ret_stream = &stream->stream;
  return 0;
}

static int
upload_stream(struct source *source, uint64_t offset, struct stream **ret_stream,
              struct error **err)
{
  return open_at(upload_of(source), offset, ret_stream, err);
}

static int
upload_restore(struct source *source, const void *state, size_t len, size_t *ret_used,
               struct stream **ret_stream, struct error **err)
{
  struct wire_reader reader = {.at = (const char *)state + sizeof(STREAM_NAME),
                               .left = len > sizeof(STREAM_NAME) ? len - sizeof(STREAM_NAME) : 0};
  uint64_t base = wire_get_u64(&reader);
  if (reader.failed || memcmp(state, STREAM_NAME, sizeof(STREAM_NAME)) != 0)
    return error_set(err, ERROR_DATA_LOSS, "the saved state of an upload is broken");
  *ret_used = len - reader.left;
  return open_at(upload_of(source), base, ret_stream, err);
}

static void
upload_cancel(struct source *source)
{
  atomic_store(&upload_of(source)->is_cancelled, true);
}

static void
upload_close(struct source *source)
{
  struct upload_source *upload = upload_of(source);
  if (!upload)
    return;
  if (upload->fd >= 0)
    (void)close(upload->fd);
  buffer_clear(&upload->tail);
  source_clear(source);
  free(upload);
}

DEFINE_CLEANUP(struct source *, upload_close)

/* "FD:SIZE:NAME" */
static int
parse(struct upload_source *upload, const char *text, struct error **err)
{
  size_t fd_len = strcspn(text, ":");
  const char *size = text[fd_len] ? text + fd_len + 1 : "";
  size_t size_len = strcspn(size, ":");
  CLEANUP(freep) char *fd_text = xstrndup(text, fd_len);
  CLEANUP(freep) char *size_text = xstrndup(size, size_len);
  uint64_t fd = 0;
  bool is_sent = strcmp(fd_text, "-") != 0;
  if ((is_sent && (text_to_u64(fd_text, 10, &fd) < 0 || fd > INT_MAX)) ||
      text_to_u64(size_text, 10, &upload->source.size) < 0 || upload->source.size == 0 ||
      upload->source.size > INT64_MAX || !size[size_len] || !size[size_len + 1])
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'upload:%s' is not of the form upload:FD:SIZE:NAME", text);
  upload->fd = is_sent ? (int)fd : -1;
  upload->source.identity = xstrdup(size + size_len + 1);
  return 0;
}

static int
upload_open(const char *url, const struct source_options *options, struct source **ret_source,
            struct error **err)
{
  CLEANUP(upload_closep)
  struct source *source = xcalloc(1, sizeof(struct upload_source));
  struct upload_source *upload = upload_of(source);
  source->ops = &source_upload_ops;
  source->label = xstrdup("upload");
  upload->fd = -1;
  upload->on_ready = options->on_ready;
  if (parse(upload, url + strlen(source_upload_ops.scheme), err) < 0)
    return -1;
  *ret_source = TAKE(source);
  return 0;
}

const struct source_ops source_upload_ops = {
    .scheme = "upload:",
    .open = upload_open,
    .stream = upload_stream,
    .restore = upload_restore,
    .cancel = upload_cancel,
    .close = upload_close,
};
