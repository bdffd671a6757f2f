/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/upload_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "populator/work/worker_process.h"

/* So that neither side waits for the other at every turn. */
#define PIPE_BYTES (1 << 20)

struct upload_worker {
  struct worker_process *process;
  int pipe;       /* to it; -1: there is no more */
  bool is_direct; /* an import */
  bool is_ready;
  bool is_over;
  uint64_t total;
  uint64_t wanted;
  uint64_t safe;
  char *digest; /* or NULL */
};

static void
add_import(const struct upload_worker_options *options, struct json_object *job)
{
  struct json_object *arguments = json_object_new_array();
  CLEANUP(freep)
  char *url = xasprintf("upload:%d:%" PRIu64 ":%s", WORKER_DATA_FD, options->total, options->id);
  json_object_array_add(arguments, json_object_new_string(url));
  json_put_at(job, arguments, "arguments");
  json_put_at(job, json_object_new_boolean(true), "existing");
  json_put_text(job, options->token, "token");
  if (options->checksum)
    json_put_text(job, options->checksum, "checksum");
}

static void
add_receive(const struct upload_worker_options *options, struct json_object *job)
{
  json_put_at(job, json_object_new_array(), "arguments");
  json_put_at(job, json_object_new_int64((int64_t)options->total), "size");
  json_put_at(job, json_object_new_int64((int64_t)options->first), "offset");
  json_put_at(job, json_object_new_int(WORKER_DATA_FD), "fd");
}

static struct json_object *
job_of(const struct upload_worker_options *options)
{
  struct json_object *job = json_object_new_object();
  CLEANUP(freep) char *target = xasprintf("volume:%s", options->handle);
  (options->id ? add_import : add_receive)(options, job);
  json_object_array_add(json_at(job, "arguments"), json_object_new_string(target));
  json_put_text(job, options->clusters, "clusters");
  json_put_at(job, json_object_new_boolean(true), "json");
  return job;
}

static void
close_pipe(struct upload_worker *worker)
{
  if (worker->pipe >= 0)
    (void)close(worker->pipe);
  worker->pipe = -1;
}

void
upload_worker_free(struct upload_worker *worker)
{
  if (!worker)
    return;
  worker_process_free(worker->process);
  close_pipe(worker);
  free(worker->digest);
  free(worker);
}

int
upload_worker_start(const struct upload_worker_options *options, struct upload_worker **ret_worker,
                    struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *job = job_of(options);
  CLEANUP(upload_worker_freep) struct upload_worker *worker = xcalloc(1, sizeof(*worker));
  int ends[2];
  worker->pipe = -1;
  worker->safe = worker->wanted = options->first;
  worker->total = options->total;
  worker->is_direct = options->id != NULL;
  if (pipe2(ends, O_CLOEXEC) < 0)
    return error_set_errno(err, errno, "pipe");
  CLEANUP(closep) int from = ends[0];
  worker->pipe = ends[1];
  (void)fcntl(worker->pipe, F_SETFL, O_NONBLOCK);
  (void)fcntl(worker->pipe, F_SETPIPE_SZ, PIPE_BYTES);
  const char *verb = worker->is_direct ? "import" : "receive";
  if (worker_process_start(options->program, verb, job, from, &worker->process, err) < 0)
    return -1;
  *ret_worker = TAKE(worker);
  return 0;
}

uint64_t
upload_worker_wanted(const struct upload_worker *worker)
{
  return worker->wanted;
}

const char *
upload_worker_digest(const struct upload_worker *worker)
{
  return worker->digest;
}

uint64_t
upload_worker_safe(const struct upload_worker *worker)
{
  return worker->safe;
}

static void
take_event(struct upload_worker *worker, struct json_object *object)
{
  const char *event = json_text(object, "event");
  bool is_done = worker->is_direct && event && strcmp(event, "done") == 0;
  int64_t safe = json_number(object, worker->is_direct ? "safe" : "position");
  int64_t wanted = json_number(object, "offset");
  if (event && strcmp(event, "ready") == 0) {
    worker->is_ready = true;
    if (worker->is_direct)
      worker->safe = worker->wanted = wanted > 0 ? (uint64_t)wanted : 0;
  }
  if (is_done && !worker->is_ready) /* by an earlier one */
    worker->wanted = worker->total;
  worker->is_ready = worker->is_ready || is_done;
  if (is_done) {
    safe = (int64_t)worker->total;
    free(worker->digest);
    worker->digest = xstrdup(json_text(object, "digest"));
  }
  if (safe > 0 && (uint64_t)safe > worker->safe)
    worker->safe = (uint64_t)safe;
}

/* What it says within so many milliseconds, and all that is there behind that. */
static int
hear(struct upload_worker *worker, int timeout_ms, struct error **err)
{
  while (!worker->is_over) {
    CLEANUP(json_object_putp) struct json_object *object = NULL;
    if (worker_process_next(worker->process, timeout_ms, &object, &worker->is_over, err) < 0)
      return -1;
    if (!object)
      return 0;
    take_event(worker, object);
    timeout_ms = 0;
  }
  return 0;
}

int
upload_worker_hear(struct upload_worker *worker, struct error **err)
{
  return hear(worker, 0, err);
}

/* How it ended, when it should not have. */
static int
early_end(struct upload_worker *worker, struct error **err)
{
  return worker_process_result(worker->process, err) < 0
             ? -1
             : error_set(err, ERROR_UNAVAILABLE, "the worker has ended");
}

int
upload_worker_await(struct upload_worker *worker, int timeout_ms, bool *ret_is_ready,
                    struct error **err)
{
  if (!worker->is_ready && hear(worker, timeout_ms, err) < 0)
    return -1;
  if (worker->is_over && !worker->is_ready)
    return early_end(worker, err);
  *ret_is_ready = worker->is_ready;
  return 0;
}

int
upload_worker_offer(struct upload_worker *worker, const void *data, size_t len, int timeout_ms,
                    size_t *ret_taken, struct error **err)
{
  struct pollfd waiting = {.fd = worker->pipe, .events = POLLOUT};
  *ret_taken = 0;
  if (poll(&waiting, 1, timeout_ms) <= 0)
    return 0;
  ssize_t written = write(worker->pipe, data, len);
  if (written < 0)
    return errno == EAGAIN || errno == EINTR ? 0 : early_end(worker, err);
  *ret_taken = (size_t)written;
  return 0;
}

int
upload_worker_finish(struct upload_worker *worker, int timeout_ms, bool *ret_is_over,
                     struct error **err)
{
  close_pipe(worker);
  if (hear(worker, timeout_ms, err) < 0)
    return -1;
  *ret_is_over = worker->is_over;
  return worker->is_over ? worker_process_result(worker->process, err) : 0;
}
