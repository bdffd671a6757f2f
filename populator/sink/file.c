/* SPDX-License-Identifier: Apache-2.0 */
/* A file, or a pipe on standard output ("-").
 * A file is written under a name of its own beside the target and renamed at the end: nobody sees
 * half of it, and what was there before stays until then. A pipe can neither seek nor take anything
 * back. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/sink/sinks.h"

struct file_sink {
  struct sink sink;
  int fd;
  bool is_file;
  char *path;
  char *part;     /* the name while it is written */
  uint64_t end;   /* where appending goes on */
  uint64_t start; /* where write_start() goes on */
};

static void
file_free(struct file_sink *file)
{
  if (!file)
    return;
  if (file->fd >= 0 && file->is_file)
    (void)close(file->fd);
  free(file->sink.label);
  free(file->path);
  free(file->part);
  free(file);
}

DEFINE_CLEANUP(struct file_sink *, file_free)

static int
file_open(const char *url, const struct sink_options *options, uint64_t estimate,
          struct sink **ret_sink, struct error **err)
{
  (void)options, (void)estimate;
  const char *path = text_starts_with(url, "file://") ? url + strlen("file://") : url;
  CLEANUP(file_freep) struct file_sink *file = xcalloc(1, sizeof(*file));
  file->sink.label = xstrdup(strcmp(path, "-") == 0 ? "standard output" : path);
  file->fd = -1;
  if (strcmp(path, "-") == 0) {
    file->fd = STDOUT_FILENO;
    file->sink.ops = &sink_pipe_ops;
    *ret_sink = &TAKE(file)->sink;
    return 0;
  }
  file->sink.ops = &sink_file_ops;
  file->sink.start_align = 1;
  file->is_file = true;
  file->path = xstrdup(path);
  file->part = xasprintf("%s.part-%d", path, (int)getpid());
  file->fd = open(file->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file->fd < 0)
    return error_set_errno(err, errno, "make '%s'", file->part);
  *ret_sink = &TAKE(file)->sink;
  return 0;
}

static int
write_all(struct file_sink *file, const char *data, size_t len, uint64_t offset, struct error **err)
{
  while (len > 0) {
    ssize_t n =
        file->is_file ? pwrite(file->fd, data, len, (off_t)offset) : write(file->fd, data, len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return error_set_errno(err, errno, "write to %s", file->sink.label);
    data += n;
    len -= (size_t)n;
    offset += (uint64_t)n;
  }
  return 0;
}

static int
file_reserve_start(struct sink *sink, uint64_t len, struct error **err)
{
  (void)err;
  ((struct file_sink *)sink)->end = len;
  return 0;
}

static int
file_append(struct sink *sink, const void *data, size_t len, struct error **err)
{
  struct file_sink *file = (struct file_sink *)sink;
  if (write_all(file, data, len, file->end, err) < 0)
    return -1;
  file->end += len;
  return 0;
}

/* A hole. */
static int
file_append_zeros(struct sink *sink, uint64_t len, struct error **err)
{
  (void)err;
  ((struct file_sink *)sink)->end += len;
  return 0;
}

static int
pipe_append_zeros(struct sink *sink, uint64_t len, struct error **err)
{
  static const char zeros[65536];
  while (len > 0) {
    size_t n = len < sizeof(zeros) ? (size_t)len : sizeof(zeros);
    if (file_append(sink, zeros, n, err) < 0)
      return -1;
    len -= n;
  }
  return 0;
}

static int
file_write_start(struct sink *sink, const void *data, size_t len, struct error **err)
{
  struct file_sink *file = (struct file_sink *)sink;
  if (write_all(file, data, len, file->start, err) < 0)
    return -1;
  file->start += len;
  return 0;
}

static void
file_abort(struct sink *sink)
{
  struct file_sink *file = (struct file_sink *)sink;
  if (file->is_file)
    (void)unlink(file->part);
  file_free(file);
}

static int
file_commit(struct sink *sink, struct error **err)
{
  struct file_sink *file = (struct file_sink *)sink;
  /* A hole at the end is not there until the length says so. */
  int r = ftruncate(file->fd, (off_t)file->end);
  if (r == 0)
    r = fsync(file->fd);
  if (r == 0)
    r = rename(file->part, file->path);
  if (r < 0) {
    error_make_errno(err, errno, "finish '%s'", file->path);
    file_abort(sink);
    return -1;
  }
  file_free(file);
  return 0;
}

static int
pipe_commit(struct sink *sink, struct error **err)
{
  (void)err;
  file_free((struct file_sink *)sink);
  return 0;
}

const struct sink_ops sink_file_ops = {
    .open = file_open,
    .reserve_start = file_reserve_start,
    .append = file_append,
    .append_zeros = file_append_zeros,
    .write_start = file_write_start,
    .commit = file_commit,
    .abort = file_abort,
};

const struct sink_ops sink_pipe_ops = {
    .open = file_open,
    .append = file_append,
    .append_zeros = pipe_append_zeros,
    .commit = pipe_commit,
    .abort = file_abort,
};
