/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/upload_server.h"

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "populator/upload/answer.h"
#include "populator/upload/download.h"
#include "populator/upload/upload.h"

#define METHODS "PUT, GET, HEAD"
#define CONNECTIONS 128
#define CONNECTIONS_PER_ADDRESS 64
#define SILENCE_S 60

struct upload_server {
  struct uploads uploads;
  struct downloads downloads;
  struct http_server *http;
};

/* ---- requests ---------------------------------------------------------------------------------
 */

static void
refuse(struct http_call *call, const struct upload_head *head, const struct error *failure)
{
  if (failure->code == ERROR_INVALID_ARGUMENT && upload_request_lacks_length(head))
    answer_error_as(call, 411, METHODS, failure);
  else
    answer_error(call, METHODS, failure);
}

static void *
begin(void *context, struct http_call *call)
{
  struct upload_server *server = context;
  const struct upload_head head = {.method = http_call_method(call),
                                   .path = http_call_path(call),
                                   .authorization = http_call_header(call, "Authorization"),
                                   .content_length = http_call_header(call, "Content-Length"),
                                   .transfer_encoding = http_call_header(call, "Transfer-Encoding"),
                                   .content_range = http_call_header(call, "Content-Range"),
                                   .checksum = http_call_header(call, "X-Checksum"),
                                   .prefer = http_call_header(call, "Prefer")};
  CLEANUP(error_freep) struct error *failure = NULL;
  struct upload_request request;
  if (upload_request_parse(&head, &request, &failure) < 0) {
    refuse(call, &head, failure);
    return NULL;
  }
  struct exchange *exchange = request.is_export ? download_begin(&server->downloads, call, &request)
                                                : upload_begin(&server->uploads, call, &request);
  upload_request_clear(&request);
  return exchange;
}

static int
take(void *state, struct http_call *call, const void *data, size_t len)
{
  struct exchange *exchange = state;
  return exchange->ops->take(exchange, call, data, len);
}

static void
end(void *state, struct http_call *call)
{
  struct exchange *exchange = state;
  exchange->ops->end(exchange, call);
}

static void
close_exchange(void *state)
{
  struct exchange *exchange = state;
  exchange->ops->close(exchange);
}

static const struct http_service service = {begin, take, end, close_exchange};

/* ---- start and stop ---------------------------------------------------------------------------
 */

static void
warn(void *context, const char *message)
{
  (void)context;
  log_warn("the new certificate of uploads is not used: %s", message);
}

static void
set_up(struct upload_server *server, const struct upload_server_options *options)
{
  CLEANUP(freep) char *holder = xasprintf("%s/upload", options->identity);
  server->uploads.populator = options->populator;
  server->uploads.watch = object_watch_start();
  server->uploads.sessions =
      (struct upload_sessions){.populator = options->populator,
                               .worker = options->worker,
                               .leases = upload_leases_new(options->populator->client, holder),
                               .locks = keyed_locks_new()};
  server->uploads.max_bytes = options->max_bytes;
  server->uploads.max = options->max_uploads;
  server->downloads.populator = options->populator;
  server->downloads.watch = server->uploads.watch;
  server->downloads.worker = options->worker;
  server->downloads.max = options->max_uploads;
}

int
upload_server_start(const struct upload_server_options *options, struct upload_server **ret_server,
                    struct error **err)
{
  CLEANUP(upload_server_stopp) struct upload_server *server = xcalloc(1, sizeof(*server));
  set_up(server, options);
  const struct http_server_options http = {
      .listen = options->listen,
      .certificate = options->certificate,
      .key = options->key,
      .max_connections = CONNECTIONS,
      .max_connections_per_address = CONNECTIONS_PER_ADDRESS,
      .silence_s = SILENCE_S,
      .service = &service,
      .warn = warn,
      .context = server,
  };
  if (http_server_start(&http, &server->http, err) < 0)
    return error_wrap(err, "--upload-listen");
  *ret_server = TAKE(server);
  return 0;
}

void
upload_server_stop(struct upload_server *server)
{
  if (!server)
    return;
  atomic_store(&server->downloads.is_stopping, true);
  http_server_stop(server->http);
  object_watch_stop(server->uploads.watch);
  keyed_locks_free(server->uploads.sessions.locks);
  upload_leases_free(server->uploads.sessions.leases);
  free(server);
}
