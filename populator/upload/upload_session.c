/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/upload_session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/kube/kube_lease.h"
#include "populator/controllers/upload_record.h"
#include "populator/work/worker_process.h"

#define LEASE_S 15
#define LEASE_RENEW_MS 5000
/* A populator that died leaves its lease behind. */
#define LEASE_WAIT_MS (LEASE_S * 1000 + 2000)
#define RECORD_MS 2000
/* Ceph that takes nothing for so long: the client is better told than kept. */
#define WRITE_MS 120000
#define FINISH_MS 120000
#define CLOSE_MS 10000
#define LISTEN_MS 250

struct upload_session {
  struct upload_sessions *all;
  const struct upload_request *request;
  struct kube_object *image; /* what is sent to, of whatever kind */
  struct keyed_lock *lock;
  struct kube_lease *lease;
  struct worker_process *worker;
  int pipe; /* to the worker */
  bool is_over;
  uint64_t safe;     /* bytes from the beginning of the file on, as the worker says … */
  uint64_t recorded; /* … and as the status does */
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
get_image(struct upload_session *session, struct error **err)
{
  const struct upload_request *request = session->request;
  kube_object_release(TAKE(session->image));
  return kube_get(session->all->populator->client, request->kind->kind, request->ns, request->name,
                  &session->image, err);
}

/* One that was left behind by a dead populator is waited for. */
static int
take_lease(struct upload_session *session, struct error **err)
{
  struct populator *populator = session->all->populator;
  CLEANUP(freep) char *name = xasprintf("upload-%s", session->image->uid);
  CLEANUP(freep) char *holder = xasprintf("%s/upload", session->all->identity);
  session->lease = kube_lease_new(populator->client, kube_client_namespace(populator->client), name,
                                  holder, LEASE_S);
  int64_t give_up_ms = clock_now_ms() + LEASE_WAIT_MS;
  for (;;) {
    bool is_held = false;
    if (kube_lease_try(session->lease, &is_held, err) < 0)
      return -1;
    if (is_held)
      break;
    if (clock_now_ms() >= give_up_ms || !kube_client_sleep(populator->client, 1000))
      return error_set(err, ERROR_ABORTED,
                       "another upload to this image is under way: one at a time");
  }
  session->renew_at_ms = clock_now_ms() + LEASE_RENEW_MS;
  return 0;
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
    *ret_handle = xstrdup(upload.handle);
    return 0;
  }
  *ret_offset = upload.offset;
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "Content-Range: %" PRIu64 " bytes of %" PRIu64
                   " are here: go on from there, or begin anew at 0",
                   upload.offset, upload.size);
}

/* ---- the worker -------------------------------------------------------------------------------
 */

static int
start_worker(struct upload_session *session, const char *handle, struct error **err)
{
  const struct upload_request *request = session->request;
  CLEANUP(json_object_putp) struct json_object *job = json_object_new_object();
  CLEANUP(freep) char *target = xasprintf("volume:%s", handle);
  struct json_object *arguments = json_object_new_array();
  json_object_array_add(arguments, json_object_new_string(target));
  json_put_at(job, arguments, "arguments");
  json_put_text(job, session->all->populator->clusters_file, "clusters");
  json_put_at(job, json_object_new_int64((int64_t)request->total), "size");
  json_put_at(job, json_object_new_int64((int64_t)request->first), "offset");
  json_put_at(job, json_object_new_int(WORKER_DATA_FD), "fd");
  json_put_at(job, json_object_new_boolean(true), "json");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0)
    return error_set_errno(err, errno, "pipe");
  CLEANUP(closep) int from = ends[0];
  session->pipe = ends[1];
  (void)fcntl(session->pipe, F_SETFL, O_NONBLOCK);
  session->safe = session->recorded = request->first;
  session->record_at_ms = clock_now_ms() + RECORD_MS;
  return worker_process_start(session->all->worker, "receive", job, from, &session->worker, err);
}

/* What the worker has said by now, or says within so many milliseconds. */
static int
listen_to(struct upload_session *session, int timeout_ms, struct error **err)
{
  struct json_object *object = NULL;
  while (!session->is_over) {
    if (worker_process_next(session->worker, timeout_ms, &object, &session->is_over, err) < 0)
      return -1;
    if (!object)
      return 0;
    int64_t position = json_number(object, "position");
    if (position > 0 && (uint64_t)position > session->safe)
      session->safe = (uint64_t)position;
    json_object_put(object);
    timeout_ms = 0;
  }
  return 0;
}

static int
record(struct upload_session *session, struct error **err)
{
  struct populator *populator = session->all->populator;
  session->record_at_ms = clock_now_ms() + RECORD_MS;
  if (session->safe == session->recorded)
    return 0;
  if (upload_record_advance(populator, session->request->kind, session->image,
                            session->request->total, session->safe, err) < 0)
    return -1;
  series_add(populator->counters, session->safe - session->recorded,
             "imprint_transfer_bytes_total{verb=\"upload\"}");
  session->recorded = session->safe;
  return 0;
}

/* Whether it is still ours to do. */
static int
check_on(struct upload_session *session, struct error **err)
{
  struct populator *populator = session->all->populator;
  const struct upload_kind *kind = session->request->kind;
  CLEANUP(kube_object_releasep)
  struct kube_object *now =
      kube_mirror_get(kind->mirror(populator), session->image->ns, session->image->name);
  if (!now && kube_get(populator->client, kind->kind, session->image->ns, session->image->name,
                       &now, err) < 0) /* the copy may be behind */
    return -1;
  if (now->is_deleting || strcmp(now->uid, session->image->uid) != 0 ||
      now->generation > session->image->generation)
    return error_set(err, ERROR_ABORTED, "the image was changed or deleted");
  if (clock_now_ms() >= session->renew_at_ms) {
    bool is_held;
    (void)kube_lease_try(session->lease, &is_held, NULL);
    session->renew_at_ms = clock_now_ms() + LEASE_RENEW_MS;
  }
  if (!kube_lease_is_held(session->lease))
    return error_set(err, ERROR_ABORTED, "another upload to this image has taken over");
  return 0;
}

/* ---- from outside -----------------------------------------------------------------------------
 */

static int
open_session(struct upload_session *session, uint64_t *ret_offset, struct error **err)
{
  struct populator *populator = session->all->populator;
  const struct upload_request *request = session->request;
  CLEANUP(freep) char *handle = NULL;
  if (get_image(session, err) < 0 ||
      upload_kind_check(request->kind, session->image, request->checksum, err) < 0)
    return -1;
  session->lock = keyed_lock_try(session->all->locks, session->image->uid, KEYED_LOCK_EXCLUSIVE,
                                 "upload", NULL);
  if (!session->lock)
    return error_set(err, ERROR_ABORTED,
                     "another upload to this image is under way: one at a time");
  /* Whatever is decided on must have been read under the lease. */
  if (take_lease(session, err) < 0 || get_image(session, err) < 0 ||
      upload_kind_check(request->kind, session->image, request->checksum, err) < 0 ||
      kube_add_finalizer(populator->client, request->kind->kind, session->image, FINALIZER_CLEANUP,
                         err) < 0 ||
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
  session->pipe = -1;
  if (open_session(session, ret_offset, err) < 0)
    return -1;
  *ret_session = TAKE(session);
  return 0;
}

static int
write_some(struct upload_session *session, const char **data, size_t *len, struct error **err)
{
  struct pollfd waiting = {.fd = session->pipe, .events = POLLOUT};
  if (poll(&waiting, 1, WRITE_MS) <= 0)
    return error_set(err, ERROR_UNAVAILABLE, "Ceph takes nothing at the moment");
  ssize_t written = write(session->pipe, *data, *len);
  if (written < 0 && errno == EAGAIN)
    return 0;
  if (written < 0)
    return worker_process_result(session->worker, err) < 0
               ? -1
               : error_set(err, ERROR_UNAVAILABLE, "the worker has ended");
  *data += written;
  *len -= (size_t)written;
  return 0;
}

int
upload_session_write(struct upload_session *session, const void *data, size_t len,
                     struct error **err)
{
  const char *text = data;
  if (check_on(session, err) < 0)
    return -1;
  while (len > 0) {
    if (write_some(session, &text, &len, err) < 0)
      return -1;
  }
  if (clock_now_ms() < session->record_at_ms)
    return 0;
  return listen_to(session, 0, err) < 0 || record(session, err) < 0 ? -1 : 0;
}

/* The worker comes to its end, because there is no more. */
static int
drain(struct upload_session *session, int64_t timeout_ms, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + timeout_ms;
  if (session->pipe >= 0)
    (void)close(session->pipe);
  session->pipe = -1;
  while (!session->is_over && clock_now_ms() < deadline_ms) {
    if (listen_to(session, LISTEN_MS, err) < 0)
      return -1;
    if (clock_now_ms() >= session->renew_at_ms && check_on(session, err) < 0)
      return -1;
  }
  if (!session->is_over)
    return error_set(err, ERROR_UNAVAILABLE, "Ceph takes nothing at the moment");
  return worker_process_result(session->worker, err);
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
upload_session_close(struct upload_session *session)
{
  if (!session)
    return;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (session->worker && !session->is_over)
    (void)drain(session, CLOSE_MS, &failure);
  if (session->worker && !failure && kube_lease_is_held(session->lease))
    (void)record(session, &failure);
  if (failure)
    log_info("upload to %s/%s: %s", session->request->ns, session->request->name, failure->message);
  worker_process_free(session->worker);
  if (session->pipe >= 0)
    (void)close(session->pipe);
  if (session->lease)
    (void)kube_lease_release(session->lease, NULL);
  kube_lease_free(session->lease);
  keyed_lock_release(session->lock);
  kube_object_release(session->image);
  free(session);
}
