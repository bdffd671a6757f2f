/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/upload_session.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "populator/controllers/upload_record.h"
#include "populator/upload/upload_worker.h"

#define LEASE_RENEW_MS (UPLOAD_LEASE_S * 1000 / 3)
#define RECORD_MS 2000
/* Ceph that does not answer for so long: the client is better told than kept. */
#define READY_MS 20000
#define WRITE_MS 120000
#define FINISH_MS 120000
#define CLOSE_MS 10000
#define LOOK_MS 250

struct upload_session {
  struct upload_sessions *all;
  const struct upload_request *request;
  struct kube_object *image; /* what is sent to, of whatever kind */
  struct keyed_lock *lock;
  struct kube_lease *lease;
  struct upload_worker *worker;
  bool is_finished;  /* the worker has come to its end */
  bool is_settled;   /* there is no more to be put on record */
  uint64_t recorded; /* bytes that are safe, as the status says */
  int64_t renew_at_ms;
  int64_t record_at_ms;
};

uint64_t
upload_session_offset(const struct upload_session *session)
{
  return session->recorded;
}

/* ---- whether it may begin ---------------------------------------------------------------------
 */

static int
look_at_image(struct upload_session *session, struct error **err)
{
  const struct upload_request *request = session->request;
  kube_object_release(TAKE(session->image));
  if (kube_get(session->all->populator->client, request->kind->kind, request->ns, request->name,
               &session->image, err) < 0)
    return -1;
  return upload_kind_check(request->kind, session->image, request->checksum, err);
}

static int
take_lock(struct upload_session *session, struct error **err)
{
  session->lock = keyed_lock_try(session->all->locks, session->image->uid, KEYED_LOCK_EXCLUSIVE,
                                 "upload", NULL);
  if (session->lock)
    return 0;
  return error_set(err, ERROR_ABORTED,
                   "another upload to this image is under way: one at a time; one whose client is "
                   "gone without a word ends after a minute");
}

static int
take_lease(struct upload_session *session, struct error **err)
{
  CLEANUP(freep) char *name = xasprintf("upload-%s", session->image->uid);
  session->renew_at_ms = clock_now_ms() + LEASE_RENEW_MS;
  return upload_leases_take(session->all->leases, name, &session->lease, err);
}

/* What goes on may promise its checksum later than at its beginning, but no other one. */
static int
keep_promise(struct upload_session *session, const struct upload_record *upload, struct error **err)
{
  const char *promised = session->request->checksum;
  if (!promised || (upload->checksum && strcasecmp(promised, upload->checksum) == 0))
    return 0;
  if (upload->checksum)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "X-Checksum is another one than this upload began with, %.200s: go on with "
                     "that, or begin anew at 0",
                     upload->checksum);
  return upload_record_promise(session->all->populator, session->request->kind, session->image,
                               promised, err);
}

/* From the beginning, or from where it was left. */
static int
place(struct upload_session *session, char **ret_handle, uint64_t *ret_offset, struct error **err)
{
  const struct upload_request *request = session->request;
  struct upload_record upload;
  upload_record_look(session->image, &upload);
  if (upload.size > 0 && upload.offset == upload.size) {
    *ret_offset = upload.offset;
    return error_set(err, ERROR_FAILED_PRECONDITION, "all of it has been uploaded already");
  }
  if (request->first == 0)
    return upload_record_begin(session->all->populator, request->kind, session->image,
                               request->total, request->checksum, ret_handle, err);
  if (upload.handle && request->total == upload.size && request->first == upload.offset) {
    if (keep_promise(session, &upload, err) < 0)
      return -1;
    *ret_handle = xstrdup(upload.handle);
    return 0;
  }
  *ret_offset = upload.offset;
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "Content-Range: %" PRIu64 " bytes of %" PRIu64
                   " are here: go on from there, or begin anew at 0",
                   upload.offset, upload.size);
}

/* ---- while it lasts ---------------------------------------------------------------------------
 */

static int
record(struct upload_session *session, struct error **err)
{
  struct populator *populator = session->all->populator;
  uint64_t safe = upload_worker_safe(session->worker);
  session->record_at_ms = clock_now_ms() + RECORD_MS;
  if (safe == session->recorded)
    return 0;
  if (upload_record_advance(populator, session->request->kind, session->image,
                            session->request->total, safe, err) < 0)
    return -1;
  series_add(populator->counters, safe - session->recorded,
             "imprint_transfer_bytes_total{verb=\"upload\"}");
  session->recorded = safe;
  return 0;
}

/* Until the end there is another time: the API server may be away for a moment. */
static int
record_if_possible(struct upload_session *session, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (record(session, &failure) == 0 || failure->code == ERROR_UNAVAILABLE)
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}

static int
keep_lease(struct upload_session *session, struct error **err)
{
  if (clock_now_ms() >= session->renew_at_ms) {
    bool is_held;
    (void)kube_lease_try(session->lease, &is_held, NULL);
    session->renew_at_ms = clock_now_ms() + LEASE_RENEW_MS;
  }
  if (kube_lease_is_held(session->lease))
    return 0;
  return error_set(err, ERROR_ABORTED,
                   "this upload has lost its lease: another one has it, or the API server is away");
}

/* Whether it is still ours to do. */
static int
check_on(struct upload_session *session, struct error **err)
{
  struct populator *populator = session->all->populator;
  const struct upload_kind *kind = session->request->kind;
  const struct kube_object *image = session->image;
  CLEANUP(kube_object_releasep)
  struct kube_object *now = kube_mirror_get(kind->mirror(populator), image->ns, image->name);
  if (!now && kube_get(populator->client, kind->kind, image->ns, image->name, &now, err) < 0)
    return -1; /* the copy may be behind, the server is not */
  if (now->is_deleting || strcmp(now->uid, image->uid) != 0)
    return error_set(err, ERROR_FAILED_PRECONDITION, "'%s/%s' was deleted meanwhile", image->ns,
                     image->name);
  if (now->generation > image->generation)
    return error_set(err, ERROR_ABORTED, "'%s/%s' was changed meanwhile: begin anew at 0",
                     image->ns, image->name);
  return keep_lease(session, err);
}

/* Until the worker can take something: the client has not sent anything yet. */
static int
await_worker(struct upload_session *session, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + READY_MS;
  CLEANUP(error_freep) struct error *failure = NULL;
  for (bool is_ready = false;;) {
    if (upload_worker_await(session->worker, LOOK_MS, &is_ready, &failure) < 0)
      break;
    if (is_ready)
      return 0;
    if (check_on(session, err) < 0)
      return -1;
    if (clock_now_ms() >= deadline_ms)
      return error_set(err, ERROR_UNAVAILABLE, "Ceph does not answer at the moment: try again");
  }
  if (failure->code != ERROR_UNAVAILABLE)
    return error_set(err, failure->code, "%s", failure->message);
  log_info("upload to %s/%s: %s", session->image->ns, session->image->name, failure->message);
  return error_set(err, ERROR_UNAVAILABLE,
                   "Ceph does not take it now; after a populator died in the middle of an upload "
                   "that lasts half a minute: try again");
}

static int
start_worker(struct upload_session *session, const char *handle, struct error **err)
{
  const struct upload_request *request = session->request;
  const struct upload_worker_options options = {
      .program = session->all->worker,
      .clusters = session->all->populator->clusters_file,
      .handle = handle,
      .first = request->first,
      .total = request->total,
  };
  session->recorded = request->first;
  session->record_at_ms = clock_now_ms() + RECORD_MS;
  if (upload_worker_start(&options, &session->worker, err) < 0)
    return -1;
  if (await_worker(session, err) == 0)
    return 0;
  session->is_settled = true; /* it was sent nothing */
  return -1;
}

/* ---- from outside -----------------------------------------------------------------------------
 */

static int
open_session(struct upload_session *session, uint64_t *ret_offset, struct error **err)
{
  struct populator *populator = session->all->populator;
  CLEANUP(freep) char *handle = NULL;
  if (look_at_image(session, err) < 0 || take_lock(session, err) < 0 ||
      take_lease(session, err) < 0)
    return -1;
  /* Whatever is decided on must have been read under the lease. */
  if (look_at_image(session, err) < 0 ||
      kube_add_finalizer(populator->client, session->request->kind->kind, session->image,
                         FINALIZER_CLEANUP, err) < 0 ||
      place(session, &handle, ret_offset, err) < 0)
    return -1;
  return start_worker(session, handle, err);
}

int
upload_session_open(struct upload_sessions *sessions, const struct upload_request *request,
                    struct upload_session **ret_session, uint64_t *ret_offset, struct error **err)
{
  CLEANUP(upload_session_closep) struct upload_session *session = xcalloc(1, sizeof(*session));
  session->all = sessions;
  session->request = request;
  if (open_session(session, ret_offset, err) < 0)
    return -1;
  *ret_session = TAKE(session);
  return 0;
}

int
upload_session_write(struct upload_session *session, const void *data, size_t len,
                     struct error **err)
{
  const char *text = data;
  int64_t stalled_at_ms = clock_now_ms() + WRITE_MS;
  while (len > 0) {
    size_t taken;
    if (check_on(session, err) < 0 ||
        upload_worker_offer(session->worker, text, len, LOOK_MS, &taken, err) < 0)
      return -1;
    text += taken;
    len -= taken;
    if (taken > 0)
      stalled_at_ms = clock_now_ms() + WRITE_MS;
    else if (clock_now_ms() >= stalled_at_ms)
      return error_set(err, ERROR_UNAVAILABLE, "Ceph takes nothing at the moment: try again");
  }
  if (clock_now_ms() < session->record_at_ms)
    return 0;
  return upload_worker_hear(session->worker, err) < 0 ? -1 : record_if_possible(session, err);
}

/* The worker comes to its end, because there is no more. */
static int
drain(struct upload_session *session, int64_t timeout_ms, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + timeout_ms;
  do {
    if (upload_worker_finish(session->worker, LOOK_MS, &session->is_finished, err) < 0) {
      session->is_finished = true;
      return -1;
    }
    if (session->is_finished)
      return 0;
    if (keep_lease(session, err) < 0)
      return -1;
  } while (clock_now_ms() < deadline_ms);
  return error_set(err, ERROR_UNAVAILABLE, "Ceph takes nothing at the moment: try again");
}

int
upload_session_finish(struct upload_session *session, struct error **err)
{
  if (check_on(session, err) < 0 || drain(session, FINISH_MS, err) < 0 || record(session, err) < 0)
    return -1;
  if (session->recorded == session->request->first + session->request->length)
    return 0;
  return error_set(err, ERROR_INTERNAL, "the worker lost a part of it");
}

void
upload_session_settle(struct upload_session *session)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (!session->worker || session->is_settled)
    return;
  session->is_settled = true;
  if ((!session->is_finished && drain(session, CLOSE_MS, &failure) < 0) ||
      (kube_lease_is_held(session->lease) && record(session, &failure) < 0))
    log_info("upload to %s/%s: %s", session->request->ns, session->request->name, failure->message);
}

void
upload_session_close(struct upload_session *session)
{
  if (!session)
    return;
  upload_session_settle(session);
  upload_worker_free(session->worker);
  if (session->lease)
    (void)kube_lease_release(session->lease, NULL);
  kube_lease_free(session->lease);
  keyed_lock_release(session->lock);
  kube_object_release(session->image);
  free(session);
}
