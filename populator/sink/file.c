/* SPDX-License-Identifier: Apache-2.0 */
/* A file, or a pipe: standard output ("-"), a FIFO, a character device, or fd:NUMBER, a descriptor
 * that whoever started us has opened, and whose writes do not block.
 * A file is written under another name beside the target and renamed at the end: nobody sees half
 * of it, and what was there before stays until then. That name is always the same, and locked while
 * somebody writes: what an export that was killed has left is taken over by the next one. A pipe
 * can neither seek nor take anything back. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/file_url.h"
#include "populator/sink/sinks.h"

#define PART_SUFFIX ".imprint-part"
/* How soon a writer who waits notices that he should not. */
#define LOOK_MS 200
/* Sent to the disk at a time. */
#define DISK_BYTES ((uint64_t)16 << 20)

struct file_sink {
  struct sink sink;
  int fd;
  bool is_file; /* not a pipe */
  mode_t mode;  /* of a file that is made */
  atomic_bool is_cancelled;
  char *path;
  char *part;     /* the name while it is written; NULL when it is not there (any more) */
  uint64_t end;   /* where appending goes on */
  uint64_t sent;  /* up to here it is on its way to the disk */
  uint64_t start; /* where write_start() goes on */
};

static void
file_free(struct file_sink *file)
{
  if (!file)
    return;
  if (file->fd >= 0 && file->fd != STDOUT_FILENO)
    (void)close(file->fd);
  free(file->sink.label);
  free(file->path);
  free(file->part);
  free(file);
}

DEFINE_CLEANUP(struct file_sink *, file_free)

/* ---- opening -----------------------------------------------------------------------------------
 */

/* The file of that name, which another export may just have renamed: then it is not ours to write.
 * 0: try again. */
static int
lock_part(struct file_sink *file, struct error **err)
{
  file->fd = open(file->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, file->mode);
  if (file->fd < 0)
    return error_set_errno(err, errno, "make '%s'", file->part);
  if (flock(file->fd, LOCK_EX | LOCK_NB) < 0)
    return error_set(err, ERROR_ABORTED, "'%s' is being written by another export", file->path);
  struct stat here, there;
  if (fstat(file->fd, &here) == 0 && stat(file->part, &there) == 0 && here.st_ino == there.st_ino &&
      here.st_dev == there.st_dev)
    return 1;
  (void)close(file->fd);
  file->fd = -1;
  return 0;
}

static int
open_part(struct file_sink *file, struct error **err)
{
  file->sink.ops = &sink_file_ops;
  file->sink.start_align = 1;
  file->is_file = true;
  CLEANUP(freep) char *part = xasprintf("%s" PART_SUFFIX, file->path);
  file->part = part;
  int r;
  while ((r = lock_part(file, err)) == 0)
    ;
  if (r > 0 && ftruncate(file->fd, 0) < 0)
    r = error_set_errno(err, errno, "empty '%s'", part);
  file->part = r < 0 ? NULL : TAKE(part);
  return r < 0 ? -1 : 0;
}

/* Writes to a pipe must not block, or the export could not be stopped while nobody reads. Whoever
 * else has standard output open would be surprised, so a pipe is opened once more. */
static int
open_stdout(void)
{
  struct stat stat_buf;
  int fd = -1;
  if (fstat(STDOUT_FILENO, &stat_buf) == 0 && S_ISFIFO(stat_buf.st_mode))
    fd = open("/proc/self/fd/1", O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  return fd < 0 ? STDOUT_FILENO : fd;
}

static int
open_pipe(struct file_sink *file, struct error **err)
{
  file->sink.ops = &sink_pipe_ops;
  if (strcmp(file->path, "-") == 0) {
    file->fd = open_stdout();
    return 0;
  }
  file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (file->fd < 0 || fcntl(file->fd, F_SETFL, O_NONBLOCK) < 0)
    return error_set_errno(err, errno, "open '%s'", file->path);
  return 0;
}

/* A link is written through. */
static char *
resolve(const char *path)
{
  CLEANUP(freep) char *real = realpath(path, NULL);
  return xstrdup(real ? real : path);
}

static int
file_open(const char *url, const struct sink_options *options, uint64_t estimate,
          struct sink **ret_sink, struct error **err)
{
  (void)options, (void)estimate;
  CLEANUP(freep) char *path = NULL;
  if (file_url_path(url, &path, err) < 0)
    return -1;
  bool is_stdout = strcmp(url, "-") == 0;
  CLEANUP(file_freep) struct file_sink *file = xcalloc(1, sizeof(*file));
  file->sink.label = xstrdup(is_stdout ? "standard output" : path);
  file->fd = -1;
  file->path = is_stdout ? xstrdup(path) : resolve(path);
  struct stat stat_buf;
  bool is_there = !is_stdout && stat(file->path, &stat_buf) == 0;
  if (is_there && (S_ISDIR(stat_buf.st_mode) || S_ISBLK(stat_buf.st_mode)))
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is a %s: name a file or a pipe", path,
                     S_ISDIR(stat_buf.st_mode) ? "folder" : "block device");
  /* What takes the place of a file is shown to nobody who could not read that. */
  file->mode = is_there ? stat_buf.st_mode & 0666 : 0666;
  bool is_pipe = is_stdout || (is_there && !S_ISREG(stat_buf.st_mode));
  if ((is_pipe ? open_pipe(file, err) : open_part(file, err)) < 0)
    return -1;
  *ret_sink = &TAKE(file)->sink;
  return 0;
}

static int
descriptor_open(const char *url, const struct sink_options *options, uint64_t estimate,
                struct sink **ret_sink, struct error **err)
{
  (void)options, (void)estimate;
  uint64_t fd;
  struct stat found;
  if (text_to_u64(url + strlen(sink_descriptor_ops.scheme), 10, &fd) < 0 || fd > INT_MAX ||
      fstat((int)fd, &found) < 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is no descriptor", url);
  struct file_sink *file = xcalloc(1, sizeof(*file));
  file->sink.ops = &sink_pipe_ops;
  file->sink.label = xstrdup(url);
  file->fd = (int)fd;
  *ret_sink = &file->sink;
  return 0;
}

/* ---- writing -----------------------------------------------------------------------------------
 */

/* Until the pipe takes something; -1 when the export is to end. */
static int
wait_for_reader(struct file_sink *file, struct error **err)
{
  struct pollfd ready = {.fd = file->fd, .events = POLLOUT};
  while (poll(&ready, 1, LOOK_MS) <= 0) {
    if (atomic_load(&file->is_cancelled))
      return error_set(err, ERROR_CANCELLED, "stopped");
  }
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
    if (n < 0 && errno == EAGAIN) {
      if (wait_for_reader(file, err) < 0)
        return -1;
      continue;
    }
    if (n < 0)
      return error_set_errno(err, errno, "write to %s", file->sink.label);
    data += n;
    len -= (size_t)n;
    offset += (uint64_t)n;
  }
  return 0;
}

/* An export is done when it is on the disk. So the disk begins now, and not when all is written. */
static void
send_to_disk(struct file_sink *file)
{
  if (!file->is_file || file->end - file->sent < DISK_BYTES)
    return;
  (void)sync_file_range(file->fd, (off_t)file->sent, (off_t)(file->end - file->sent),
                        SYNC_FILE_RANGE_WRITE);
  file->sent = file->end;
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
  send_to_disk(file);
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

/* ---- the end -----------------------------------------------------------------------------------
 */

/* So that the new name outlives a power cut. Not every file system can: it has done its best. */
static void
sync_folder(const char *path)
{
  CLEANUP(freep) char *copy = xstrdup(path);
  CLEANUP(closep) int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0)
    (void)fsync(fd);
}

static int
file_commit(struct sink *sink, struct error **err)
{
  struct file_sink *file = (struct file_sink *)sink;
  /* A hole at the end is not there until the length says so. */
  if (ftruncate(file->fd, (off_t)file->end) < 0 || fsync(file->fd) < 0 ||
      rename(file->part, file->path) < 0)
    return error_set_errno(err, errno, "finish '%s'", file->path);
  free(TAKE(file->part));
  sync_folder(file->path);
  return 0;
}

static int
pipe_commit(struct sink *sink, struct error **err)
{
  (void)sink, (void)err;
  return 0;
}

static void
pipe_cancel(struct sink *sink)
{
  atomic_store(&((struct file_sink *)sink)->is_cancelled, true);
}

static void
file_abort(struct sink *sink)
{
  struct file_sink *file = (struct file_sink *)sink;
  if (file->part)
    (void)unlink(file->part);
}

static void
file_close(struct sink *sink)
{
  file_free((struct file_sink *)sink);
}

const struct sink_ops sink_file_ops = {
    .scheme = FILE_URL_SCHEME,
    .open = file_open,
    .reserve_start = file_reserve_start,
    .append = file_append,
    .append_zeros = file_append_zeros,
    .write_start = file_write_start,
    .commit = file_commit,
    .abort = file_abort,
    .close = file_close,
};

const struct sink_ops sink_pipe_ops = {
    .open = file_open,
    .append = file_append,
    .append_zeros = pipe_append_zeros,
    .cancel = pipe_cancel,
    .commit = pipe_commit,
    .abort = file_abort,
    .close = file_close,
};

const struct sink_ops sink_descriptor_ops = {
    .scheme = "fd:",
    .open = descriptor_open,
};
