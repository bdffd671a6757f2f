/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/upload_session.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "populator/controllers/upload_record.h"
#include "populator/upload/upload_place.h"
#include "populator/upload/upload_probe.h"
#include "populator/upload/upload_worker.h"

#define LEASE_RENEW_MS (UPLOAD_LEASE_S * 1000 / 3)
#define RECORD_MS 2000
/* Ceph that does not answer for so long: the client is better told than kept. */
#define READY_MS 20000
#define WRITE_MS 120000
#define FINISH_MS 120000
#define CLOSE_MS 10000
#define VOLUME_MS 8000
/* The file is here, and more than a moment is needed for what is left to do with it. */
#define LEAVE_MS 5000
#define LOOK_MS 250

struct upload_session {
  struct upload_sessions *all;
  const struct upload_request *request;
  struct kube_object *image; /* what is sent to, of whatever kind */
  struct keyed_lock *lock;
  struct kube_lease *lease;
  struct upload_worker *worker;
  struct buffer beginning; /* of a file that is not known yet, until there is a worker */
  bool is_direct;          /* it is imported as it comes */
  bool is_refused;         /* the file is of no use */
  uint64_t skip;           /* bytes that are sent and known already */
  bool is_finished;        /* the worker has come to its end */
  bool is_settled;         /* there is no more to be put on record */
  uint64_t recorded;       /* bytes that are safe, as the status says */
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
  CLEANUP(error_freep) struct error *failure = NULL;
  if (!now && kube_get(populator->client, kind->kind, image->ns, image->name, &now, &failure) < 0 &&
      failure->code != ERROR_NOT_FOUND) /* the copy may be behind, the server is not */
    return error_set(err, failure->code, "%s", failure->message);
  if (!now || !kube_object_stays(now, image))
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

/* What is on record is more than there is. */
static int
go_back(struct upload_session *session, uint64_t offset, uint64_t *ret_offset, struct error **err)
{
  const struct upload_request *request = session->request;
  *ret_offset = session->recorded = offset;
  if (upload_record_advance(session->all->populator, request->kind, session->image, request->total,
                            offset, err) < 0)
    return -1;
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "what was sent before is not there any more: begin anew at %" PRIu64, offset);
}

/* The worker does not begin where it should. */
static int
check_wanted(struct upload_session *session, uint64_t *ret_offset, struct error **err)
{
  uint64_t wanted = upload_worker_wanted(session->worker);
  uint64_t first = session->request->first;
  if (wanted < first)
    return go_back(session, wanted, ret_offset, err);
  session->skip = wanted - first; /* a populator died before it could put that on record */
  return 0;
}

static int
start(struct upload_session *session, struct error **err)
{
  const struct upload_request *request = session->request;
  CLEANUP(freep) char *url = NULL;
  CLEANUP(freep) char *token = NULL;
  struct upload_record upload;
  upload_record_look(session->image, &upload);
  if (upload_record_source(session->image, &url, &token, err) < 0)
    return -1;
  const struct upload_worker_options options = {
      .program = session->all->worker,
      .clusters = session->all->populator->clusters_file,
      .handle = upload.into ? upload.into : upload.handle,
      .first = request->first,
      .total = request->total,
      .id = upload.into ? upload.id : NULL,
      .token = token,
      .checksum = upload_place_checksum(request, session->image),
  };
  session->is_direct = upload.into != NULL;
  session->recorded = request->first;
  session->record_at_ms = clock_now_ms() + RECORD_MS;
  return upload_worker_start(&options, &session->worker, err);
}

static int
start_worker(struct upload_session *session, uint64_t *ret_offset, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (start(session, err) < 0)
    return -1;
  if (await_worker(session, &failure) == 0 && check_wanted(session, ret_offset, &failure) == 0)
    return 0;
  session->is_settled = true; /* it was sent nothing */
  if (session->is_direct && session->request->first > 0 && failure->code == ERROR_NOT_FOUND)
    return go_back(session, 0, ret_offset, err);
  return error_set(err, failure->code, "%s", failure->message);
}

/* ---- a file that begins -----------------------------------------------------------------------
 */

/* Whether the import says what is wrong with it, when all of it is here. */
static bool
is_of_the_file(enum error_code code)
{
  return code == ERROR_INVALID_ARGUMENT || code == ERROR_FAILED_PRECONDITION ||
         code == ERROR_OUT_OF_RANGE;
}

/* The volume that it is imported to as it comes; *ret_handle is NULL when it cannot be, or it
 * cannot be told. One that was made for another file may be about to go. */
static int
make_own_volume(struct upload_session *session, char **ret_handle, struct error **err)
{
  const struct upload_request *request = session->request;
  struct populator *populator = session->all->populator;
  int64_t deadline_ms = clock_now_ms() + VOLUME_MS;
  struct upload_probe probe = {0};
  if (session->beginning.len == UPLOAD_PROBE_BYTES || session->beginning.len == request->total)
    upload_probe(session->all->worker, session->beginning.data, session->beginning.len,
                 request->total, &probe);
  while (probe.is_direct) {
    CLEANUP(error_freep) struct error *failure = NULL;
    if (request->kind->make_volume(populator, session->image, probe.disk_bytes, ret_handle,
                                   &failure) == 0 ||
        is_of_the_file(failure->code))
      break;
    if (failure->code != ERROR_UNAVAILABLE || clock_now_ms() >= deadline_ms ||
        !kube_client_sleep(populator->client, LOOK_MS))
      return error_set(err, failure->code, "%s", failure->message);
    if (look_at_image(session, err) < 0 || keep_lease(session, err) < 0)
      return -1;
  }
  return look_at_image(session, err);
}

/* Enough has come to tell what it is. */
static int
begin(struct upload_session *session, struct error **err)
{
  const struct upload_request *request = session->request;
  CLEANUP(freep) char *own = NULL;
  CLEANUP(freep) char *handle = NULL;
  uint64_t offset;
  if (make_own_volume(session, &own, err) < 0)
    return -1;
  const struct upload_beginning beginning = {
      .size = request->total, .checksum = request->checksum, .into = own};
  if (upload_record_begin(session->all->populator, request->kind, session->image, &beginning,
                          &handle, err) < 0)
    return -1;
  /* What is recorded next is compared with how it is now. */
  return look_at_image(session, err) < 0 ? -1 : start_worker(session, &offset, err);
}

/* ---- from outside -----------------------------------------------------------------------------
 */

static int
open_session(struct upload_session *session, uint64_t *ret_offset, struct error **err)
{
  struct populator *populator = session->all->populator;
  if (look_at_image(session, err) < 0 || take_lock(session, err) < 0 ||
      take_lease(session, err) < 0)
    return -1;
  /* Whatever is decided on must have been read under the lease. */
  if (look_at_image(session, err) < 0 ||
      kube_add_finalizer(populator->client, session->request->kind->kind, session->image,
                         FINALIZER_CLEANUP, err) < 0 ||
      upload_place_check(populator, session->request, session->image, &session->recorded, err) <
          0) {
    *ret_offset = session->recorded;
    return -1;
  }
  return session->request->first == 0 ? 0 : start_worker(session, ret_offset, err);
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

/* The worker has ended, and this is why. */
static int
blame(struct upload_session *session, const struct error *failure)
{
  enum error_code code = failure->code;
  session->is_refused =
      session->is_direct && (code == ERROR_INVALID_ARGUMENT || code == ERROR_DATA_LOSS ||
                             code == ERROR_OUT_OF_RANGE || code == ERROR_UNIMPLEMENTED);
  return -1;
}

static int
feed(struct upload_session *session, const char *data, size_t len, struct error **err)
{
  int64_t stalled_at_ms = clock_now_ms() + WRITE_MS;
  size_t known = session->skip < len ? (size_t)session->skip : len;
  session->skip -= known;
  data += known;
  len -= known;
  while (len > 0) {
    size_t taken;
    if (check_on(session, err) < 0)
      return -1;
    if (upload_worker_offer(session->worker, data, len, LOOK_MS, &taken, err) < 0)
      return blame(session, *err);
    data += taken;
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

/* Gathers what is needed to tell what it is; *used is that much of the data. */
static int
gather(struct upload_session *session, const char *data, size_t len, size_t *ret_used,
       struct error **err)
{
  uint64_t length = session->request->length;
  size_t needed = length < UPLOAD_PROBE_BYTES ? (size_t)length : UPLOAD_PROBE_BYTES;
  size_t missing = needed - session->beginning.len;
  *ret_used = len < missing ? len : missing;
  (void)buffer_append(&session->beginning, data, *ret_used);
  if (session->beginning.len < needed)
    return check_on(session, err);
  if (begin(session, err) < 0 ||
      feed(session, session->beginning.data, session->beginning.len, err) < 0)
    return -1;
  buffer_clear(&session->beginning);
  return 0;
}

int
upload_session_write(struct upload_session *session, const void *data, size_t len,
                     struct error **err)
{
  size_t used = 0;
  if (!session->worker && gather(session, data, len, &used, err) < 0)
    return -1;
  return session->worker ? feed(session, (const char *)data + used, len - used, err) : 0;
}

/* The worker comes to its end, because there is no more. What it does with a file that is here can
 * be gone on with by whoever imports it. */
static int
drain(struct upload_session *session, int64_t timeout_ms, struct error **err)
{
  int64_t began_ms = clock_now_ms();
  do {
    if (upload_worker_finish(session->worker, LOOK_MS, &session->is_finished, err) < 0) {
      session->is_finished = true;
      return blame(session, *err);
    }
    if (session->is_finished)
      return 0;
    if (session->is_direct && clock_now_ms() > began_ms + LEAVE_MS &&
        upload_worker_safe(session->worker) == session->request->total)
      return 0;
    if (keep_lease(session, err) < 0)
      return -1;
  } while (clock_now_ms() < began_ms + timeout_ms);
  return error_set(err, ERROR_UNAVAILABLE, "Ceph takes nothing at the moment: try again");
}

/* An earlier worker may have ended well that nobody heard of: it knew nothing of this promise. */
static int
check_promise(struct upload_session *session, struct error **err)
{
  const char *promised = session->request->checksum;
  const char *digest = upload_worker_digest(session->worker);
  if (!promised || !digest || strcasecmp(promised, digest) == 0 ||
      strncasecmp(promised, digest, strlen("sha256:")) != 0)
    return 0;
  session->is_refused = true;
  return error_set(err, ERROR_DATA_LOSS, "checksum of the file is %s, not %.200s", digest,
                   promised);
}

int
upload_session_finish(struct upload_session *session, struct error **err)
{
  const struct upload_request *request = session->request;
  if (check_on(session, err) < 0 || drain(session, FINISH_MS, err) < 0 ||
      check_promise(session, err) < 0 || record(session, err) < 0)
    return -1;
  if (session->recorded >= request->first + request->length)
    return 0;
  return error_set(err, ERROR_ABORTED,
                   "only %" PRIu64 " bytes could be made sure of: go on from there",
                   session->recorded);
}

bool
upload_session_is_refused(const struct upload_session *session)
{
  return session->is_refused;
}

int
upload_session_refuse(struct upload_session *session, const char *reason, struct error **err)
{
  session->is_settled = true;
  return upload_record_fail(session->all->populator, session->request->kind, session->image, reason,
                            err);
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
  buffer_clear(&session->beginning);
  free(session);
}
