/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/http_body.h"

#include <stdlib.h>

#include "lib/base/memory.h"

struct http_body {
  struct stream stream;
  struct http_stream *http;
  uint64_t position;
};

static ssize_t
http_body_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct http_body *body = (struct http_body *)stream;
  ssize_t got = http_stream_read(body->http, buf, len, err);
  if (got > 0)
    body->position += (uint64_t)got;
  return got;
}

static int
http_body_save(struct stream *stream, struct buffer *state, struct error **err)
{
  (void)err;
  buffer_append_u64(state, ((struct http_body *)stream)->position);
  return 0;
}

static void
http_body_close(struct stream *stream)
{
  struct http_body *body = (struct http_body *)stream;
  http_stream_close(body->http);
  free(body);
}

static const struct stream_ops resumable_ops = {
    .name = "http",
    .read = http_body_read,
    .save = http_body_save,
    .close = http_body_close,
};

static const struct stream_ops once_ops = {
    .name = "http",
    .read = http_body_read,
    .close = http_body_close,
};

int
http_body_open(struct http_client *client, const struct http_request *request, uint64_t offset,
               struct stream **ret_stream, bool *ret_is_unframed, struct error **err)
{
  struct http_stream *http = NULL;
  if (http_stream_open(client, request, offset, &http, err) < 0)
    return -1;
  struct http_body *body = xcalloc(1, sizeof(*body));
  body->stream.ops = http_stream_can_resume(http) ? &resumable_ops : &once_ops;
  body->http = http;
  body->position = offset;
  *ret_stream = &body->stream;
  *ret_is_unframed = http_stream_is_unframed(http);
  return 0;
}
