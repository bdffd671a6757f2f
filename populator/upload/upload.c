/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/upload.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kube/kube_review.h"
#include "populator/controllers/upload_record.h"
#include "populator/objects/quantity.h"
#include "populator/upload/answer.h"

#define METHODS "PUT, GET, HEAD"
/* Whoever sends less than that on average, measured over so long, holds a place for nothing. */
#define SLOW_MS 60000
#define SLOW_BYTES_PER_SECOND 1024
#define WAIT_LOOK_MS 200
/* Until a file that is of no use is known to be so. */
#define REFUSAL_S 5
/* An image file may be larger than its disk by tables and by snapshots of its own, not by more. */
#define FILE_OVERHEAD_BYTES ((uint64_t)256 << 20)

/* One PUT that was let in. */
struct upload {
  struct exchange exchange;
  struct uploads *all;
  struct upload_request request;
  char *checksum; /* what the request points at must stay */
  struct upload_session *session;
  struct watched_object watched;
  uint64_t received;
  int64_t began_ms;
};

/* ---- who may, and what ------------------------------------------------------------------------
 */

static int
admit(struct populator *populator, const struct upload_request *request, struct error **err)
{
  if (populator->is_without_cdi && request->kind == &data_volume_upload)
    return error_set(err, ERROR_NOT_FOUND, "DataVolumes are served by somebody else here");
  const struct kube_access access = {.verb = "update",
                                     .kind = request->kind->kind,
                                     .subresource = "upload",
                                     .ns = request->ns,
                                     .name = request->name};
  return kube_review(populator->client, request->token, &access, err);
}

static int
find_image(const struct uploads *uploads, const struct upload_request *request,
           struct kube_object **ret_image, struct error **err)
{
  return kube_get(uploads->populator->client, request->kind->kind, request->ns, request->name,
                  ret_image, err);
}

static int
check_size(const struct uploads *uploads, const struct upload_request *request,
           const struct kube_object *image, struct error **err)
{
  char limit[TEXT_BYTES_MAX];
  uint64_t disk_bytes;
  const char *field;
  struct json_object *size = request->kind->size(image, &field);
  if (quantity_of(size, field, &disk_bytes, err) < 0)
    return -1;
  if (request->total > uploads->max_bytes)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "the file has %" PRIu64 " bytes, more than the %s that may be uploaded here",
                     request->total, text_of_bytes(uploads->max_bytes, limit));
  if (disk_bytes > 0 && request->total / 2 > disk_bytes + FILE_OVERHEAD_BYTES / 2)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "the file has %" PRIu64 " bytes, far more than fit into the %s of %s",
                     request->total, text_of_bytes(disk_bytes, limit), field);
  return 0;
}

/* ---- answers ----------------------------------------------------------------------------------
 */

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
  answer_number(call, "Upload-Offset", upload.offset);
  if (upload.size)
    answer_number(call, "Upload-Length", upload.size);
  answer_json(call, status, object);
}

/* Until it is imported, or has failed, or the client has waited enough. */
static int
await_outcome(const struct upload *upload, struct kube_object **image, struct error **err)
{
  const struct upload_request *request = &upload->request;
  struct populator *populator = upload->all->populator;
  int64_t until_ms = clock_now_ms() + (int64_t)request->wait_s * 1000;
  enum upload_outcome outcome;
  (void)request->kind->state(*image, &outcome);
  while (clock_now_ms() < until_ms && outcome == UPLOAD_PENDING &&
         kube_client_sleep(populator->client, WAIT_LOOK_MS)) {
    struct kube_object *now =
        kube_mirror_get(request->kind->mirror(populator), request->ns, request->name);
    if (!now)
      return error_set(err, ERROR_NOT_FOUND, "'%s/%s' was deleted meanwhile", request->ns,
                       request->name);
    kube_object_release(*image);
    *image = now;
    (void)request->kind->state(now, &outcome);
  }
  return 0;
}

/* All that was announced is safe. */
static void
answer_end(const struct upload *upload, struct http_call *call)
{
  const struct upload_request *request = &upload->request;
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(kube_object_releasep) struct kube_object *image = NULL;
  bool is_last = request->first + request->length == request->total;
  enum upload_outcome outcome;
  if (find_image(upload->all, request, &image, &failure) < 0 ||
      (is_last && await_outcome(upload, &image, &failure) < 0)) {
    answer_error(call, METHODS, failure);
    return;
  }
  (void)request->kind->state(image, &outcome);
  answer_progress(call,
                  outcome == UPLOAD_BAD     ? 422
                  : outcome == UPLOAD_READY ? 201
                  : is_last                 ? 202
                                            : 200,
                  request->kind, image);
}

/* ---- a PUT ------------------------------------------------------------------------------------
 */

/* Leaves its place to others; whoever still waits for an answer holds nothing. */
static void
leave(struct upload *upload)
{
  if (!upload->session)
    return;
  object_watch_remove(upload->all->watch, &upload->watched);
  upload_session_close(TAKE(upload->session));
  (void)atomic_fetch_sub(&upload->all->running, 1);
}

static void
upload_free(struct upload *upload)
{
  if (!upload)
    return;
  leave(upload);
  upload_request_clear(&upload->request);
  free(upload->checksum);
  free(upload);
}

DEFINE_CLEANUP(struct upload *, upload_free)

static void
close_upload(struct exchange *exchange)
{
  upload_free((struct upload *)exchange);
}

/* The file is of no use: the image says so too. */
static void
refuse(struct upload *upload, struct http_call *call, const struct error *failure)
{
  CLEANUP(error_freep) struct error *trouble = NULL;
  CLEANUP(kube_object_releasep) struct kube_object *image = NULL;
  int r = upload_session_refuse(upload->session, failure->message, &trouble);
  leave(upload);
  if (upload->request.wait_s < REFUSAL_S)
    upload->request.wait_s = REFUSAL_S;
  if (r == 0 && find_image(upload->all, &upload->request, &image, &trouble) == 0 &&
      await_outcome(upload, &image, &trouble) == 0)
    answer_progress(call, 422, upload->request.kind, image);
  else
    answer_error_as(call, 422, METHODS, failure);
}

/* What has come is kept, and the client is told how much that is. */
static void
give_up(struct upload *upload, struct http_call *call, const struct error *failure)
{
  log_warn("upload to %s/%s: %s", upload->request.ns, upload->request.name, failure->message);
  if (upload_session_is_refused(upload->session)) {
    refuse(upload, call, failure);
    return;
  }
  upload_session_settle(upload->session);
  answer_number(call, "Upload-Offset", upload_session_offset(upload->session));
  leave(upload);
  answer_error(call, METHODS, failure);
}

static int
check_pace(const struct upload *upload, struct error **err)
{
  int64_t elapsed_ms = clock_now_ms() - upload->began_ms;
  if (elapsed_ms > SLOW_MS &&
      upload->received < (uint64_t)elapsed_ms / 1000 * SLOW_BYTES_PER_SECOND)
    return error_set(err, ERROR_DEADLINE_EXCEEDED,
                     "less than %d bytes a second came: go on over a better line",
                     SLOW_BYTES_PER_SECOND);
  return 0;
}

static int
take(struct exchange *exchange, struct http_call *call, const void *data, size_t len)
{
  struct upload *upload = (struct upload *)exchange;
  CLEANUP(error_freep) struct error *failure = NULL;
  upload->received += len;
  if (check_pace(upload, &failure) == 0 &&
      upload_session_write(upload->session, data, len, &failure) == 0)
    return 0;
  give_up(upload, call, failure);
  return -1;
}

static void
end(struct exchange *exchange, struct http_call *call)
{
  struct upload *upload = (struct upload *)exchange;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (upload_session_finish(upload->session, &failure) < 0) {
    give_up(upload, call, failure);
    return;
  }
  leave(upload);
  answer_end(upload, call);
}

static const struct exchange_ops ops = {.take = take, .end = end, .close = close_upload};

static struct upload *
upload_new(struct uploads *uploads, const struct upload_request *request)
{
  struct upload *upload = xcalloc(1, sizeof(*upload));
  upload->exchange.ops = &ops;
  upload->all = uploads;
  upload->request = *request;
  upload->request.ns = xstrdup(request->ns);
  upload->request.name = xstrdup(request->name);
  upload->request.token = NULL; /* it has been shown, and is not kept */
  upload->request.checksum = upload->checksum = xstrdup(request->checksum);
  upload->began_ms = clock_now_ms();
  return upload;
}

/* A place, counted; with the session it is left. */
static int
open_session(struct upload *upload, uint64_t *ret_offset, struct error **err)
{
  struct uploads *uploads = upload->all;
  int r = -1;
  if (atomic_fetch_add(&uploads->running, 1) >= uploads->max)
    error_make(err, ERROR_RESOURCE_EXHAUSTED, "%u uploads are under way, which is all there may be",
               uploads->max);
  else
    r = upload_session_open(&uploads->sessions, &upload->request, &upload->session, ret_offset,
                            err);
  if (r < 0)
    (void)atomic_fetch_sub(&uploads->running, 1);
  return r;
}

static struct exchange *
begin_put(struct uploads *uploads, struct http_call *call, const struct upload_request *request)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(kube_object_releasep) struct kube_object *image = NULL;
  CLEANUP(upload_freep) struct upload *upload = upload_new(uploads, request);
  uint64_t offset = UINT64_MAX;
  if (find_image(uploads, request, &image, &failure) == 0 &&
      check_size(uploads, request, image, &failure) == 0 &&
      open_session(upload, &offset, &failure) == 0) {
    log_info("upload to %s/%s: from byte %" PRIu64 " of %" PRIu64, request->ns, request->name,
             request->first, request->total);
    object_watch_add(uploads->watch, &upload->watched, call,
                     request->kind->mirror(uploads->populator), image);
    return &TAKE(upload)->exchange;
  }
  if (offset != UINT64_MAX)
    answer_number(call, "Upload-Offset", offset);
  answer_error(call, METHODS, failure);
  return NULL;
}

/* ---- every request ----------------------------------------------------------------------------
 */

struct exchange *
upload_begin(struct uploads *uploads, struct http_call *call, const struct upload_request *request)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(kube_object_releasep) struct kube_object *image = NULL;
  if (admit(uploads->populator, request, &failure) == 0) {
    if (request->is_put)
      return begin_put(uploads, call, request);
    if (find_image(uploads, request, &image, &failure) == 0) {
      answer_progress(call, 200, request->kind, image);
      return NULL;
    }
  }
  answer_error(call, METHODS, failure);
  return NULL;
}
