/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/download.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/kube/kube_review.h"
#include "populator/controllers/local_export.h"
#include "populator/objects/condition.h"
#include "populator/upload/answer.h"
#include "populator/work/worker_process.h"

#define METHODS "GET, HEAD"
/* Whoever is to compress reads all before the first byte; a client who takes nothing for so long
 * has gone. */
#define SILENCE_S 600
/* What fails, fails soon: so long is waited with the head of the answer. */
#define FIRST_MS 10000
#define LOOK_MS 500
#define END_MS 10000
#define PIPE_BYTES (1 << 20)

struct download {
  struct exchange exchange;
  struct downloads *all;
  struct kube_object *object; /* the export */
  struct watched_object watched;
  struct worker_process *worker;
  int pipe; /* what the worker writes */
  bool is_worker_over;
  bool is_complete;
  uint64_t sent;
};

/* ---- the export -------------------------------------------------------------------------------
 */

static int
admit(struct populator *populator, const struct upload_request *request, struct error **err)
{
  /* Not "get": who may look at objects may not yet read disks. */
  const struct kube_access access = {.verb = "create",
                                     .kind = &virtual_machine_volume_exports,
                                     .subresource = "download",
                                     .ns = request->ns,
                                     .name = request->name};
  return kube_review(populator->client, request->token, &access, err);
}

static int
check_export(const struct kube_object *object, struct error **err)
{
  if (!local_export_is(object))
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "this export is not kept here: spec.destination.local was not asked for");
  if (object->is_deleting)
    return error_set(err, ERROR_NOT_FOUND, "the export is being deleted");
  if (strcmp(condition_state(object), "Error") == 0)
    return error_set(err, ERROR_FAILED_PRECONDITION, "the export has failed");
  if (!json_text(object->json, "status", "snapshotHandle"))
    return error_set(err, ERROR_UNAVAILABLE, "the export is not ready yet");
  return 0;
}

/* Whether it is there still, by the server's own word or by our copy. */
static int
check_there(const struct download *download, bool is_certain, struct error **err)
{
  struct populator *populator = download->all->populator;
  const struct kube_object *object = download->object;
  CLEANUP(kube_object_releasep)
  struct kube_object *now =
      is_certain ? NULL : kube_mirror_get(populator->exports, object->ns, object->name);
  if (!now && kube_get(populator->client, &virtual_machine_volume_exports, object->ns, object->name,
                       &now, err) < 0)
    return -1;
  if (!kube_object_stays(now, object))
    return error_set(err, ERROR_ABORTED, "the export was deleted meanwhile");
  return 0;
}

/* ---- the worker -------------------------------------------------------------------------------
 */

static int
start_worker(struct download *download, struct error **err)
{
  int ends[2];
  CLEANUP(json_object_putp) struct json_object *job = local_export_job(download->object);
  json_put_text(job, download->all->populator->clusters_file, "clusters");
  CLEANUP(freep) char *target = xasprintf("fd:%d", WORKER_DATA_FD);
  json_object_array_add(json_at(job, "arguments"), json_object_new_string(target));
  if (pipe2(ends, O_CLOEXEC) < 0)
    return error_set_errno(err, errno, "pipe");
  download->pipe = ends[0];
  CLEANUP(closep) int to = ends[1];
  (void)fcntl(to, F_SETFL, O_NONBLOCK); /* as the worker wants it: it must notice when to stop */
  (void)fcntl(to, F_SETPIPE_SZ, PIPE_BYTES);
  return worker_process_start(download->all->worker, "export", job, to, &download->worker, err);
}

/* What it says is not of interest, but has to be read. */
static int
listen_to(struct download *download, int timeout_ms, struct error **err)
{
  struct json_object *object;
  do {
    if (download->is_worker_over)
      return 0;
    if (worker_process_next(download->worker, timeout_ms, &object, &download->is_worker_over, err) <
        0)
      return -1;
    json_object_put(object);
  } while (object);
  return 0;
}

/* The worker has written all that it will. */
static int
finish(struct download *download, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + END_MS;
  while (!download->is_worker_over && clock_now_ms() < deadline_ms) {
    if (listen_to(download, LOOK_MS, err) < 0)
      return -1;
  }
  if (worker_process_result(download->worker, err) < 0 || check_there(download, true, err) < 0)
    return -1;
  download->is_complete = true;
  return 0;
}

/* Whether there is something to read, or the end. */
static int
await(struct download *download, int64_t timeout_ms, bool *ret_is_there, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + timeout_ms;
  struct pollfd waiting = {.fd = download->pipe, .events = POLLIN};
  do {
    if (atomic_load(&download->all->is_stopping))
      return error_set(err, ERROR_CANCELLED, "the populator stops");
    if (check_there(download, false, err) < 0 || listen_to(download, 0, err) < 0)
      return -1;
    *ret_is_there = poll(&waiting, 1, LOOK_MS) > 0;
  } while (!*ret_is_there && clock_now_ms() < deadline_ms);
  return 0;
}

static ssize_t
read_pipe(struct download *download, void *buf, size_t len, struct error **err)
{
  bool is_there;
  if (await(download, (int64_t)SILENCE_S * 1000, &is_there, err) < 0)
    return -1;
  if (!is_there)
    return error_set(err, ERROR_UNAVAILABLE, "Ceph gives nothing at the moment");
  ssize_t got = read(download->pipe, buf, len);
  if (got < 0)
    return error_set_errno(err, errno, "read from the worker");
  return got > 0 ? got : finish(download, err);
}

static ssize_t
read_body(void *state, void *buf, size_t len)
{
  struct download *download = state;
  CLEANUP(error_freep) struct error *failure = NULL;
  ssize_t got = read_pipe(download, buf, len, &failure);
  if (got < 0) {
    log_warn("download of %s/%s: cut off: %s", download->object->ns, download->object->name,
             failure->message);
    return -1;
  }
  download->sent += (uint64_t)got;
  series_add(download->all->populator->counters, (uint64_t)got,
             "imprint_transfer_bytes_total{verb=\"download\"}");
  return got;
}

/* ---- a request --------------------------------------------------------------------------------
 */

static void
close_download(struct exchange *exchange)
{
  struct download *download = (struct download *)exchange;
  struct populator *populator = download->all->populator;
  object_watch_remove(download->all->watch, &download->watched);
  if (download->pipe >= 0)
    (void)close(download->pipe);
  worker_process_free(download->worker);
  (void)atomic_fetch_sub(&download->all->running, 1);
  series_add(populator->counters, 1, "imprint_transfers_total{verb=\"download\",result=\"%s\"}",
             download->is_complete ? "ok" : "error");
  log_info("download of %s/%s: %s after %" PRIu64 " bytes", download->object->ns,
           download->object->name, download->is_complete ? "complete" : "ended", download->sent);
  kube_object_release(download->object);
  free(download);
}

static const struct exchange_ops ops = {.close = close_download};

static void
name_file(struct http_call *call, const struct kube_object *object)
{
  CLEANUP(freep)
  char *disposition = xasprintf("attachment; filename=\"%s.%s\"", object->name,
                                local_export_is_raw(object) ? "img" : "qcow2");
  http_call_set_header(call, "Content-Disposition", disposition);
  http_call_set_header(call, "Accept-Ranges", "none");
}

/* The first bytes are here before anything is said: what cannot be read at all is an answer. */
static int
begin(struct download *download, struct http_call *call, struct error **err)
{
  const struct http_stream_body body = {
      .read = read_body, .state = download, .silence_s = SILENCE_S};
  bool is_there;
  char first;
  if (start_worker(download, err) < 0 || await(download, FIRST_MS, &is_there, err) < 0)
    return -1;
  struct pollfd look = {.fd = download->pipe, .events = POLLIN};
  if (is_there && poll(&look, 1, 0) > 0 && !(look.revents & POLLIN) &&
      read(download->pipe, &first, 1) == 0)
    return finish(download, err) < 0
               ? -1
               : error_set(err, ERROR_INTERNAL, "the worker has written nothing");
  name_file(call, download->object);
  return http_call_answer_stream(call, "application/octet-stream", &body, err);
}

/* A place, counted. */
static struct download *
take_place(struct downloads *all, struct error **err)
{
  if (atomic_fetch_add(&all->running, 1) >= all->max) {
    (void)atomic_fetch_sub(&all->running, 1);
    error_make(err, ERROR_RESOURCE_EXHAUSTED,
               "%u downloads are under way, which is all there may be", all->max);
    return NULL;
  }
  struct download *download = xcalloc(1, sizeof(*download));
  download->exchange.ops = &ops;
  download->all = all;
  download->pipe = -1;
  return download;
}

static struct exchange *
serve(struct downloads *all, struct http_call *call, const struct upload_request *request,
      struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *object = NULL;
  if (admit(all->populator, request, err) < 0 ||
      kube_get(all->populator->client, &virtual_machine_volume_exports, request->ns, request->name,
               &object, err) < 0 ||
      check_export(object, err) < 0)
    return NULL;
  if (request->is_head) {
    name_file(call, object);
    http_call_answer(call, 200, "application/octet-stream", "");
    return NULL;
  }
  struct download *download = take_place(all, err);
  if (!download)
    return NULL;
  download->object = TAKE(object);
  if (begin(download, call, err) == 0) {
    object_watch_add(all->watch, &download->watched, call, all->populator->exports,
                     download->object);
    return &download->exchange;
  }
  close_download(&download->exchange);
  return NULL;
}

struct exchange *
download_begin(struct downloads *downloads, struct http_call *call,
               const struct upload_request *request)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct exchange *exchange = serve(downloads, call, request, &failure);
  if (failure)
    answer_error(call, METHODS, failure);
  return exchange;
}
