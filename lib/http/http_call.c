/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_call.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define HEADERS_MAX 8
/* So much is read for the sake of an answer, and for so long; who sends more is cut off. */
#define IGNORED_MAX_BYTES ((size_t)32 << 20)
#define IGNORED_MAX_MS 30000

struct http_call {
  struct MHD_Connection *connection;
  char *path;
  char *method;
  bool is_chunked; /* as of HTTP/1.1: a body has an end of its own */
  struct http_stream_body body;
  void *state;
  struct MHD_Response *response; /* what is answered, once that is known */
  unsigned status;
  uint64_t taken;           /* bytes of the body … */
  size_t ignored;           /* … and those that nobody wants … */
  int64_t ignored_since_ms; /* … since the answer is known */
  struct {
    char *name;
    char *value;
  } headers[HEADERS_MAX]; /* of the answer */
  size_t header_count;
};

const char *
http_call_method(const struct http_call *call)
{
  return call->method;
}

const char *
http_call_path(const struct http_call *call)
{
  return call->path;
}

const char *
http_call_header(const struct http_call *call, const char *name)
{
  return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

void
http_call_set_header(struct http_call *call, const char *name, const char *value)
{
  if (call->header_count == HEADERS_MAX)
    abort(); /* none of ours sets as many */
  call->headers[call->header_count].name = xstrdup(name);
  call->headers[call->header_count++].value = xstrdup(value);
}

static void
set_response(struct http_call *call, unsigned status, const char *content_type,
             struct MHD_Response *response)
{
  (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
  (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  for (size_t i = 0; i < call->header_count; i++)
    (void)MHD_add_response_header(response, call->headers[i].name, call->headers[i].value);
  call->response = response;
  call->status = status;
  call->ignored_since_ms = clock_now_ms();
}

void
http_call_answer(struct http_call *call, unsigned status, const char *content_type,
                 const char *text)
{
  struct MHD_Response *response =
      MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
  if (response) /* else there is no memory: the connection is cut */
    set_response(call, status, content_type, response);
}

/* The connection's thread, which waits for its socket, sees the end and closes it. */
void
http_call_cut_off(struct http_call *call)
{
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info)
    (void)shutdown(info->connect_fd, SHUT_RDWR);
}

#define STREAM_BLOCK_BYTES ((size_t)256 << 10)

static ssize_t
read_body(void *context, uint64_t position, char *buf, size_t len)
{
  struct http_call *call = context;
  (void)position;
  ssize_t n = call->body.read(call->body.state, buf, len);
  return n > 0 ? n : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

int
http_call_answer_stream(struct http_call *call, const char *content_type,
                        const struct http_stream_body *body, struct error **err)
{
  if (!call->is_chunked)
    return error_set(err, ERROR_UNIMPLEMENTED,
                     "HTTP/1.1 is needed: with HTTP/1.0 a file that is cut off looks complete");
  call->body = *body;
  struct MHD_Response *response = MHD_create_response_from_callback(
      MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, read_body, call, NULL);
  if (!response)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "there is no memory");
  (void)MHD_set_connection_option(call->connection, MHD_CONNECTION_OPTION_TIMEOUT, body->silence_s);
  set_response(call, 200, content_type, response);
  return 0;
}

static struct http_call *
call_new(struct MHD_Connection *connection, const char *path, const char *method)
{
  struct http_call *call = xcalloc(1, sizeof(*call));
  call->connection = connection;
  call->path = xstrdup(path);
  call->method = xstrdup(method);
  return call;
}

static enum MHD_Result
send_answer(struct http_call *call)
{
  return call->response ? MHD_queue_response(call->connection, call->status, call->response)
                        : MHD_NO;
}

/* Whether what is still to come of the body may be read for the sake of an answer. */
static bool
is_rest_short(const struct http_call *call)
{
  const char *length = http_call_header(call, MHD_HTTP_HEADER_CONTENT_LENGTH);
  uint64_t bytes = 0;
  return !length || (text_to_u64(length, 10, &bytes) == 0 &&
                     (bytes < call->taken || bytes - call->taken <= IGNORED_MAX_BYTES));
}

/* Whether a body comes whatever is answered. Who asks first ("Expect: 100-continue") need not send
 * it. Others only listen when they have sent all: an answer that comes earlier, and the end of the
 * connection behind it, is lost on them. */
static bool
has_body_under_way(const struct http_call *call)
{
  const char *length = http_call_header(call, MHD_HTTP_HEADER_CONTENT_LENGTH);
  bool has_body = (length && strcmp(length, "0") != 0) ||
                  http_call_header(call, MHD_HTTP_HEADER_TRANSFER_ENCODING);
  return has_body && is_rest_short(call) && !http_call_header(call, MHD_HTTP_HEADER_EXPECT);
}

/* libmicrohttpd would take the time that was needed to serve for silence of the client, and drop
 * it; when a limit is set where there was none, it counts anew. */
static void
count_silence_anew(const struct http_call *call, const struct http_call_rules *rules)
{
  if (call->body.read)
    return; /* has a limit of its own */
  (void)MHD_set_connection_option(call->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
  (void)MHD_set_connection_option(call->connection, MHD_CONNECTION_OPTION_TIMEOUT,
                                  rules->silence_s);
}

static enum MHD_Result
handle_head(struct http_call *call, const struct http_call_rules *rules)
{
  call->state = rules->service->begin(rules->context, call);
  count_silence_anew(call, rules);
  if (!call->response)
    return rules->service->take ? MHD_YES : MHD_NO;
  return has_body_under_way(call) ? MHD_YES : send_answer(call);
}

static enum MHD_Result
handle_piece(struct http_call *call, const struct http_call_rules *rules, const char *data,
             size_t len)
{
  if (call->response) {
    call->ignored += len;
    bool is_late = clock_now_ms() - call->ignored_since_ms > IGNORED_MAX_MS;
    return call->ignored <= IGNORED_MAX_BYTES && !is_late ? MHD_YES : MHD_NO;
  }
  call->taken += len;
  int r = rules->service->take(call->state, call, data, len);
  count_silence_anew(call, rules);
  return r == 0 || (call->response && is_rest_short(call)) ? MHD_YES : MHD_NO;
}

/* libmicrohttpd calls once with the head, then with each piece of the body, and once more behind
 * it. An answer can be given at the first and at the last call, not between. */
enum MHD_Result
/* NOLINTNEXTLINE(readability-function-size): the parameters are libmicrohttpd's */
http_call_handle(void *context, struct MHD_Connection *connection, const char *path,
                 const char *method, const char *version, const char *data, size_t *data_len,
                 void **state)
{
  const struct http_call_rules *rules = context;
  struct http_call *call = *state;
  if (!call) {
    *state = call = call_new(connection, path, method);
    call->is_chunked = strcmp(version, MHD_HTTP_VERSION_1_1) == 0;
    return handle_head(call, rules);
  }
  if (*data_len > 0) {
    size_t len = *data_len;
    *data_len = 0;
    return handle_piece(call, rules, data, len);
  }
  if (!call->response) {
    rules->service->end(call->state, call);
    count_silence_anew(call, rules);
  }
  return send_answer(call);
}

void
http_call_completed(void *context, struct MHD_Connection *connection, void **state,
                    enum MHD_RequestTerminationCode why)
{
  const struct http_call_rules *rules = context;
  struct http_call *call = *state;
  (void)connection;
  (void)why;
  if (!call)
    return;
  if (call->state && rules->service->close)
    rules->service->close(call->state);
  if (call->response)
    MHD_destroy_response(call->response);
  for (size_t i = 0; i < call->header_count; i++) {
    free(call->headers[i].name);
    free(call->headers[i].value);
  }
  free(call->path);
  free(call->method);
  free(call);
  *state = NULL;
}
