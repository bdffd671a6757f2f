/* SPDX-License-Identifier: Apache-2.0 */
/* A PUT to an HTTP server. Its length is said before the first byte (set_size): many servers, and
 * every S3 store behind a signed URL, take nothing else. What breaks half-way leaves nothing but
 * what the server makes of it, and is not repeated: the export would have to be made again. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/sink/sinks.h"

/* curl is run once for so many bytes. */
#define BUFFER_BYTES ((size_t)1 << 20)

struct http_sink {
  struct sink sink;
  struct http_client *client;
  char *url;
  struct http_request request;
  struct http_put *put; /* NULL until its size is said */
  char *buffer;
  size_t len;
};

static void
http_free(struct http_sink *http)
{
  if (!http)
    return;
  http_put_free(http->put);
  http_client_free(http->client);
  free(http->url);
  free(http->buffer);
  free(http->sink.label);
  free(http);
}

DEFINE_CLEANUP(struct http_sink *, http_free)

static int
http_open(const char *url, const struct sink_options *options, uint64_t estimate,
          struct sink **ret_sink, struct error **err)
{
  (void)estimate, (void)err;
  CLEANUP(http_freep) struct http_sink *http = xcalloc(1, sizeof(*http));
  http->url = xstrdup(url);
  http->request = (struct http_request){.url = http->url};
  http->sink.ops = &sink_http_ops;
  http->sink.label = http_request_label(&http->request);
  http->client = http_client_new(&options->http);
  http->buffer = xcalloc(BUFFER_BYTES, 1);
  *ret_sink = &TAKE(http)->sink;
  return 0;
}

static int
http_set_size(struct sink *sink, uint64_t size, struct error **err)
{
  struct http_sink *http = (struct http_sink *)sink;
  return http_put_open(http->client, &http->request, size, &http->put, err);
}

static int
flush(struct http_sink *http, struct error **err)
{
  size_t len = http->len;
  http->len = 0;
  return len > 0 ? http_put_write(http->put, http->buffer, len, err) : 0;
}

/* data NULL: zeros. */
static int
add(struct http_sink *http, const char *data, uint64_t len, struct error **err)
{
  while (len > 0) {
    size_t room = BUFFER_BYTES - http->len;
    size_t n = len < room ? (size_t)len : room;
    if (data) {
      memcpy(http->buffer + http->len, data, n);
      data += n;
    } else {
      memset(http->buffer + http->len, 0, n);
    }
    http->len += n;
    len -= n;
    if (http->len == BUFFER_BYTES && flush(http, err) < 0)
      return -1;
  }
  return 0;
}

static int
http_append(struct sink *sink, const void *data, size_t len, struct error **err)
{
  return add((struct http_sink *)sink, data, len, err);
}

static int
http_append_zeros(struct sink *sink, uint64_t len, struct error **err)
{
  return add((struct http_sink *)sink, NULL, len, err);
}

static void
http_cancel(struct sink *sink)
{
  http_client_cancel(((struct http_sink *)sink)->client);
}

static int
http_commit(struct sink *sink, struct error **err)
{
  struct http_sink *http = (struct http_sink *)sink;
  struct http_response response = {0};
  if (flush(http, err) < 0 || http_put_finish(http->put, &response, err) < 0)
    return -1;
  http_response_clear(&response);
  return 0;
}

/* Less than was announced: no server takes that for the file. */
static void
http_abort(struct sink *sink)
{
  struct http_sink *http = (struct http_sink *)sink;
  http_put_free(TAKE(http->put));
}

static void
http_close(struct sink *sink)
{
  http_free((struct http_sink *)sink);
}

const struct sink_ops sink_http_ops = {
    .scheme = "http:",
    .open = http_open,
    .set_size = http_set_size,
    .append = http_append,
    .append_zeros = http_append_zeros,
    .cancel = http_cancel,
    .commit = http_commit,
    .abort = http_abort,
    .close = http_close,
};

const struct sink_ops sink_https_ops = {
    .scheme = "https:",
    .open = http_open,
};
