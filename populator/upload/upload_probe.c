/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/upload_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "populator/work/worker_process.h"

#define LOOK_MS 20000

/* A pipe that has it, and its end. */
static int
fill_pipe(const void *beginning, size_t len, int *ret_fd, struct error **err)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0)
    return error_set_errno(err, errno, "pipe");
  CLEANUP(closep) int to = ends[1];
  (void)fcntl(to, F_SETFL, O_NONBLOCK);
  (void)fcntl(to, F_SETPIPE_SZ, (int)UPLOAD_PROBE_BYTES);
  (void)!write(to, beginning, len); /* a part of it may do */
  *ret_fd = ends[0];
  return 0;
}

static int
run(const char *program, int data_fd, struct json_object **ret_result, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *job = json_object_new_object();
  CLEANUP(json_object_putp) struct json_object *result = NULL;
  CLEANUP(worker_process_freep) struct worker_process *process = NULL;
  CLEANUP(freep) char *url = xasprintf("fd:%d:upload", WORKER_DATA_FD);
  struct json_object *arguments = json_object_new_array();
  json_object_array_add(arguments, json_object_new_string(url));
  json_put_at(job, arguments, "arguments");
  json_put_at(job, json_object_new_boolean(true), "json");
  if (worker_process_start(program, "inspect", job, data_fd, &process, err) < 0)
    return -1;
  int64_t deadline_ms = clock_now_ms() + LOOK_MS;
  for (bool is_over = false; !is_over;) {
    struct json_object *object;
    int64_t left_ms = deadline_ms - clock_now_ms();
    if (left_ms <= 0)
      return error_set(err, ERROR_DEADLINE_EXCEEDED, "the worker takes too long");
    if (worker_process_next(process, (int)left_ms, &object, &is_over, err) < 0)
      return -1;
    if (object) {
      json_object_put(result);
      result = object;
    }
  }
  if (worker_process_result(process, err) < 0)
    return -1;
  *ret_result = TAKE(result);
  return 0;
}

/* The decoder of a block of xz, and of a frame of zstd, has no state that could be saved; many such
 * files are one. Other formats are not read front to back. */
static bool
is_direct(struct json_object *result)
{
  const char *format = json_text(result, "format");
  const char *wrapping = json_text(result, "wrapping");
  if (!format || json_text(result, "refusal") ||
      (strcmp(format, "raw") != 0 && strcmp(format, "qcow2") != 0))
    return false;
  return !wrapping || (!strstr(wrapping, "xz") && !strstr(wrapping, "zstd"));
}

void
upload_probe(const char *program, const void *beginning, size_t len, uint64_t total,
             struct upload_probe *ret_probe)
{
  CLEANUP(json_object_putp) struct json_object *result = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(closep) int fd = -1;
  *ret_probe = (struct upload_probe){0};
  if (fill_pipe(beginning, len, &fd, &failure) < 0 || run(program, fd, &result, &failure) < 0) {
    log_debug("the beginning of an upload: %s", failure->message);
    return;
  }
  int64_t bytes = json_number(result, "virtualSize");
  bool is_plain =
      !json_text(result, "wrapping") && strcmp(json_text(result, "format") ?: "", "raw") == 0;
  ret_probe->is_direct = is_direct(result);
  ret_probe->disk_bytes = is_plain ? total : bytes > 0 ? (uint64_t)bytes : 0;
}
