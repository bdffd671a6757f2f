/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/upload_server.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kube/kube_review.h"
#include "populator/controllers/upload_record.h"
#include "populator/objects/quantity.h"
#include "populator/upload/answer.h"
#include "populator/upload/download.h"

#define METHODS "PUT, GET, HEAD"
#define CONNECTIONS 128
#define CONNECTIONS_PER_ADDRESS 64
#define SILENCE_S 60
/* Whoever sends less than that on average, measured over so long, holds a place for nothing. */
#define SLOW_MS 60000
#define SLOW_BYTES_PER_SECOND 1024
#define WAIT_LOOK_MS 200
/* An image file may be larger than its disk by tables and by snapshots of its own, not by more. */
#define FILE_OVERHEAD_BYTES ((uint64_t)256 << 20)

struct upload_server {
  struct upload_server_options options;
  struct upload_sessions sessions;
  struct downloads downloads;
  struct http_server *http;
  atomic_uint running;
};

/* One PUT that was let in. */
struct upload {
  struct exchange exchange;
  struct upload_server *server;
  struct upload_request request;
  char *token; /* what the request points at must stay */
  char *checksum;
  struct upload_session *session;
  uint64_t received;
  int64_t began_ms;
};

/* ---- answers ----------------------------------------------------------------------------------
 */

static void
set_number(struct http_call *call, const char *name, uint64_t value)
{
  CLEANUP(freep) char *text = xasprintf("%" PRIu64, value);
  http_call_set_header(call, name, text);
}

/* How far the image is, in the head and in the body. */
static void
answer_progress(struct http_call *call, unsigned status, const struct upload_kind *kind,
                const struct kube_object *image)
{
  struct upload_record upload;
  enum upload_outcome outcome;
  upload_record_look(image, &upload);
  const char *progress = json_text(image->json, "status", "progress");
  struct json_object *conditions = json_at(image->json, "status", "conditions");
  const char *message = json_text(json_item(conditions, 0), "message");
  struct json_object *object = json_object_new_object();
  json_put_text(object, kind->state(image, &outcome), "state");
  json_put_at(object, json_object_new_int64((int64_t)upload.offset), "offset");
  json_put_at(object, json_object_new_int64((int64_t)upload.size), "size");
  if (progress)
    json_put_text(object, progress, "progress");
  if (message && *message)
    json_put_text(object, message, "message");
  set_number(call, "Upload-Offset", upload.offset);
  if (upload.size)
    set_number(call, "Upload-Length", upload.size);
  answer_json(call, status, object);
}

/* ---- who may ----------------------------------------------------------------------------------
 */

static int
admit(struct upload_server *server, const struct upload_request *request, struct error **err)
{
  struct kube_client *client = server->options.populator->client;
  CLEANUP(json_object_putp) struct json_object *user = NULL;
  if (server->options.populator->is_without_cdi && request->kind == &data_volume_upload)
    return error_set(err, ERROR_NOT_FOUND, "DataVolumes are served by somebody else here");
  const struct kube_access access = {.verb = "update",
                                     .kind = request->kind->kind,
                                     .subresource = "upload",
                                     .ns = request->ns,
                                     .name = request->name};
  if (kube_review_token(client, request->token, &user, err) < 0)
    return -1;
  return kube_review_access(client, user, &access, err);
}

static int
check_size(const struct upload_server *server, const struct upload_request *request,
           const struct kube_object *image, struct error **err)
{
  char limit[TEXT_BYTES_MAX];
  uint64_t disk_bytes;
  if (quantity_of(request->kind->size(image), request->kind->size_field, &disk_bytes, err) < 0)
    return -1;
  if (request->total > server->options.max_bytes)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "the file has %" PRIu64 " bytes, more than the %s that may be uploaded here",
                     request->total, text_of_bytes(server->options.max_bytes, limit));
  if (disk_bytes > 0 && request->total / 2 > disk_bytes + FILE_OVERHEAD_BYTES / 2)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "the file has %" PRIu64 " bytes, far more than fit into the %s of %s",
                     request->total, text_of_bytes(disk_bytes, limit), request->kind->size_field);
  return 0;
}

static int
find_image(struct upload_server *server, const struct upload_request *request,
           struct kube_object **ret_image, struct error **err)
{
  return kube_get(server->options.populator->client, request->kind->kind, request->ns,
                  request->name, ret_image, err);
}

/* ---- a PUT ------------------------------------------------------------------------------------
 */

static void
upload_free(struct upload *upload)
{
  if (!upload)
    return;
  if (upload->session)
    (void)atomic_fetch_sub(&upload->server->running, 1);
  upload_session_close(upload->session);
  upload_request_clear(&upload->request);
  if (upload->token)
    explicit_bzero(upload->token, strlen(upload->token));
  free(upload->token);
  free(upload->checksum);
  free(upload);
}

DEFINE_CLEANUP(struct upload *, upload_free)

static void
close_upload(struct exchange *exchange)
{
  upload_free((struct upload *)exchange);
}

/* A place, counted; the session gives it back. */
static int
open_session(struct upload *upload, uint64_t *ret_offset, struct error **err)
{
  struct upload_server *server = upload->server;
  int r = -1;
  if (atomic_fetch_add(&server->running, 1) >= server->options.max_uploads)
    error_make(err, ERROR_RESOURCE_EXHAUSTED, "%u uploads are under way, which is all there may be",
               server->options.max_uploads);
  else
    r = upload_session_open(&server->sessions, &upload->request, &upload->session, ret_offset, err);
  if (r < 0)
    (void)atomic_fetch_sub(&server->running, 1);
  return r;
}

static void *
begin_put(struct upload_server *server, struct http_call *call,
          const struct upload_request *request)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(kube_object_releasep) struct kube_object *image = NULL;
  CLEANUP(upload_freep) struct upload *upload = xcalloc(1, sizeof(*upload));
  uint64_t offset = UINT64_MAX;
  upload->exchange.close = close_upload;
  upload->server = server;
  upload->request = *request;
  upload->request.ns = xstrdup(request->ns);
  upload->request.name = xstrdup(request->name);
  upload->request.token = upload->token = xstrdup(request->token);
  upload->request.checksum = upload->checksum = xstrdup(request->checksum);
  upload->began_ms = clock_now_ms();
  if (find_image(server, request, &image, &failure) == 0 &&
      check_size(server, request, image, &failure) == 0 &&
      open_session(upload, &offset, &failure) == 0) {
    log_info("upload to %s/%s: from byte %" PRIu64 " of %" PRIu64, request->ns, request->name,
             request->first, request->total);
    return TAKE(upload);
  }
  if (offset != UINT64_MAX)
    set_number(call, "Upload-Offset", offset);
  answer_error(call, METHODS, failure);
  return NULL;
}

static int
take(void *state, struct http_call *call, const void *data, size_t len)
{
  struct upload *upload = state;
  CLEANUP(error_freep) struct error *failure = NULL;
  (void)call;
  upload->received += len;
  int64_t elapsed_ms = clock_now_ms() - upload->began_ms;
  bool is_slow = elapsed_ms > SLOW_MS &&
                 upload->received < (uint64_t)elapsed_ms / 1000 * SLOW_BYTES_PER_SECOND;
  if (is_slow || upload->received > upload->request.length)
    error_make(&failure, ERROR_ABORTED, "%s",
               is_slow ? "the client is too slow" : "more than was announced");
  else if (upload_session_write(upload->session, data, len, &failure) == 0)
    return 0;
  log_warn("upload to %s/%s: %s", upload->request.ns, upload->request.name, failure->message);
  return -1;
}

/* Until it is imported, or has failed, or the client has waited enough. */
static void
await_end(struct upload *upload, struct kube_object **image)
{
  struct populator *populator = upload->server->options.populator;
  int64_t until_ms = clock_now_ms() + (int64_t)upload->request.wait_s * 1000;
  const struct upload_kind *kind = upload->request.kind;
  enum upload_outcome outcome;
  (void)kind->state(*image, &outcome);
  while (clock_now_ms() < until_ms && outcome == UPLOAD_PENDING &&
         kube_client_sleep(populator->client, WAIT_LOOK_MS)) {
    struct kube_object *now =
        kube_mirror_get(kind->mirror(populator), upload->request.ns, upload->request.name);
    if (!now)
      return;
    kube_object_release(*image);
    *image = now;
    (void)kind->state(now, &outcome);
  }
}

static void
answer_end(struct upload *upload, struct http_call *call)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(kube_object_releasep) struct kube_object *image = NULL;
  bool is_last = upload->request.first + upload->request.length == upload->request.total;
  if (find_image(upload->server, &upload->request, &image, &failure) < 0) {
    answer_error(call, METHODS, failure);
    return;
  }
  if (is_last)
    await_end(upload, &image);
  enum upload_outcome outcome;
  (void)upload->request.kind->state(image, &outcome);
  answer_progress(call,
                  outcome == UPLOAD_BAD     ? 422
                  : outcome == UPLOAD_READY ? 201
                  : is_last                 ? 202
                                            : 200,
                  upload->request.kind, image);
}

static void
end(void *state, struct http_call *call)
{
  struct upload *upload = state;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (upload_session_finish(upload->session, &failure) == 0) {
    upload_session_close(TAKE(upload->session)); /* whoever waits below holds nothing */
    (void)atomic_fetch_sub(&upload->server->running, 1);
    answer_end(upload, call);
    return;
  }
  log_warn("upload to %s/%s: %s", upload->request.ns, upload->request.name, failure->message);
  set_number(call, "Upload-Offset", upload_session_offset(upload->session));
  answer_error(call, METHODS, failure);
}

/* ---- every request ----------------------------------------------------------------------------
 */

static void *
serve(struct upload_server *server, struct http_call *call, const struct upload_request *request)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(kube_object_releasep) struct kube_object *image = NULL;
  if (admit(server, request, &failure) == 0) {
    if (request->is_put)
      return begin_put(server, call, request);
    if (find_image(server, request, &image, &failure) == 0) {
      answer_progress(call, 200, request->kind, image);
      return NULL;
    }
  }
  answer_error(call, METHODS, failure);
  return NULL;
}

static void *
begin(void *context, struct http_call *call)
{
  const struct upload_head head = {.method = http_call_method(call),
                                   .path = http_call_path(call),
                                   .authorization = http_call_header(call, "Authorization"),
                                   .content_length = http_call_header(call, "Content-Length"),
                                   .content_range = http_call_header(call, "Content-Range"),
                                   .checksum = http_call_header(call, "X-Checksum"),
                                   .prefer = http_call_header(call, "Prefer")};
  CLEANUP(error_freep) struct error *failure = NULL;
  struct upload_request request;
  if (upload_request_parse(&head, &request, &failure) < 0) {
    answer_error(call, METHODS, failure);
    return NULL;
  }
  struct upload_server *server = context;
  void *state = request.is_export ? download_begin(&server->downloads, call, &request)
                                  : serve(server, call, &request);
  upload_request_clear(&request);
  return state;
}

/* ---- start and stop ---------------------------------------------------------------------------
 */

static void
close_exchange(void *state)
{
  struct exchange *exchange = state;
  exchange->close(exchange);
}

static void
warn(void *context, const char *message)
{
  (void)context;
  log_warn("the new certificate of uploads is not used: %s", message);
}

int
upload_server_start(const struct upload_server_options *options, struct upload_server **ret_server,
                    struct error **err)
{
  static const struct http_service service = {begin, take, end, close_exchange};
  CLEANUP(upload_server_stopp) struct upload_server *server = xcalloc(1, sizeof(*server));
  server->options = *options;
  server->sessions = (struct upload_sessions){.populator = options->populator,
                                              .identity = options->identity,
                                              .worker = options->worker,
                                              .locks = keyed_locks_new()};
  server->downloads.populator = options->populator;
  server->downloads.worker = options->worker;
  server->downloads.max = options->max_uploads;
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
  keyed_locks_free(server->sessions.locks);
  free(server);
}
