/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_call.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

#define HEADERS_MAX 8

struct http_call {
  struct MHD_Connection *connection;
  char *path;
  char *method;
  void *state;
  bool is_answered;
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

void
http_call_answer(struct http_call *call, unsigned status, const char *content_type,
                 const char *text)
{
  struct MHD_Response *response =
      MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
  if (!response)
    return; /* no memory: the connection is cut */
  (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
  (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  for (size_t i = 0; i < call->header_count; i++)
    (void)MHD_add_response_header(response, call->headers[i].name, call->headers[i].value);
  call->is_answered = MHD_queue_response(call->connection, status, response) == MHD_YES;
  MHD_destroy_response(response);
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
  (void)version;
  if (!call) {
    *state = call = call_new(connection, path, method);
    call->state = rules->service->begin(rules->context, call);
    return call->is_answered || rules->service->take ? MHD_YES : MHD_NO;
  }
  if (call->is_answered) { /* whatever else is sent */
    *data_len = 0;
    return MHD_YES;
  }
  if (*data_len > 0) {
    size_t len = *data_len;
    *data_len = 0;
    return rules->service->take(call->state, call, data, len) == 0 ? MHD_YES : MHD_NO;
  }
  rules->service->end(call->state, call);
  return call->is_answered ? MHD_YES : MHD_NO;
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
  for (size_t i = 0; i < call->header_count; i++) {
    free(call->headers[i].name);
    free(call->headers[i].value);
  }
  free(call->path);
  free(call->method);
  free(call);
  *state = NULL;
}
