/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/work/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "lib/base/subprocess.h"

/* A line is a few hundred bytes; what does not come to an end is not ours. */
#define LINE_MAX_BYTES ((size_t)1 << 20)
#define END_MS 10000
/* A store may take a while to drop what was sent to it. */
#define STOP_MS 5000

struct worker_process {
  struct subprocess *process;
  int out;
  struct buffer text;
  struct json_object *failure; /* the object that told of it, or NULL */
};

/* A job is far smaller than a pipe, so this never waits. */
static int
write_job(int fd, struct json_object *job, struct error **err)
{
  const char *text = json_object_to_json_string_ext(job, JSON_C_TO_STRING_PLAIN);
  for (size_t len = strlen(text); len > 0;) {
    ssize_t written = write(fd, text, len);
    if (written < 0)
      return error_set_errno(err, errno, "hand a job to the worker");
    text += written;
    len -= (size_t)written;
  }
  return 0;
}

int
worker_process_start(const char *program, const char *verb, struct json_object *job, int data_fd,
                     struct worker_process **ret_process, struct error **err)
{
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) < 0)
    return error_set_errno(err, errno, "pipe");
  CLEANUP(closep) int in_read = in[0];
  CLEANUP(closep) int in_write = in[1];
  if (pipe2(out, O_CLOEXEC) < 0)
    return error_set_errno(err, errno, "pipe");
  CLEANUP(closep) int out_write = out[1];
  CLEANUP(worker_process_freep) struct worker_process *worker = xcalloc(1, sizeof(*worker));
  worker->out = out[0];
  worker->text.limit = LINE_MAX_BYTES;
  const char *const argv[] = {"imprint", verb, "--job", NULL};
  const struct subprocess_fd fds[] = {
      {in_read, 0}, {out_write, 1}, {2, 2}, {data_fd, WORKER_DATA_FD}};
  const struct subprocess_options options = {
      .program = program, .argv = argv, .fds = fds, .fd_count = data_fd < 0 ? 3 : 4};
  if (subprocess_start(&options, &worker->process, err) < 0 || write_job(in_write, job, err) < 0)
    return -1;
  *ret_process = TAKE(worker);
  return 0;
}

void
worker_process_free(struct worker_process *worker)
{
  if (!worker)
    return;
  int status;
  if (worker->process && subprocess_wait(worker->process, 0, &status, NULL) < 0) {
    (void)kill(subprocess_pid(worker->process), SIGTERM);
    (void)subprocess_wait(worker->process, STOP_MS, &status, NULL);
  }
  subprocess_free(worker->process);
  (void)close(worker->out);
  buffer_clear(&worker->text);
  json_object_put(worker->failure);
  free(worker);
}

/* A complete line of what was read so far, if there is one. */
static int
take_line(struct worker_process *worker, struct json_object **ret_object, struct error **err)
{
  char *end = worker->text.len ? memchr(worker->text.data, '\n', worker->text.len) : NULL;
  if (!end)
    return 0;
  size_t len = (size_t)(end - worker->text.data);
  if (json_parse(worker->text.data, len, ret_object, err) < 0)
    return error_wrap(err, "what the worker says");
  worker->text.len -= len + 1;
  memmove(worker->text.data, end + 1, worker->text.len);
  const char *event = json_text(*ret_object, "event");
  if (event && strcmp(event, "failed") == 0) {
    json_object_put(worker->failure);
    worker->failure = json_object_get(*ret_object);
  }
  return 0;
}

int
worker_process_next(struct worker_process *worker, int timeout_ms, struct json_object **ret_object,
                    bool *ret_is_over, struct error **err)
{
  *ret_object = NULL;
  if (take_line(worker, ret_object, err) < 0 || *ret_object)
    return *ret_object ? 0 : -1;
  struct pollfd poll_out = {.fd = worker->out, .events = POLLIN};
  if (poll(&poll_out, 1, timeout_ms) <= 0)
    return 0;
  char chunk[4096];
  ssize_t got = read(worker->out, chunk, sizeof(chunk));
  if (got < 0)
    return error_set_errno(err, errno, "read what the worker says");
  *ret_is_over = got == 0;
  if (!buffer_append(&worker->text, chunk, (size_t)got))
    return error_set(err, ERROR_INTERNAL, "the worker says too much");
  return take_line(worker, ret_object, err);
}

int
worker_process_result(struct worker_process *worker, struct error **err)
{
  int status;
  if (subprocess_wait(worker->process, END_MS, &status, err) < 0)
    return -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return 0;
  const char *message = json_text(worker->failure, "message");
  int64_t code = json_number(worker->failure, "code");
  if (message && code >= ERROR_CANCELLED && code <= ERROR_UNAUTHENTICATED)
    return error_set(err, (enum error_code)code, "%s", message);
  char text[SUBPROCESS_STATUS_MAX];
  return error_set(err, ERROR_UNAVAILABLE, "the worker ended without a word: %s",
                   subprocess_status_text(status, text));
}
