/* SPDX-License-Identifier: Apache-2.0 */
/* A path, file:///path, or "-" for what comes on standard input. Regular files and block devices
 * can be read anywhere; a pipe only once. A file that is written to meanwhile is noticed by its
 * size and time, which every read compares.
 *
 * fd:NUMBER:NAME is a file that was opened before, by somebody who looked at where it is; from then
 * on it is the source's to close. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/file_url.h"
#include "populator/source/sources.h"
#include "populator/source/uncached_read.h"

struct file_source {
  struct source source;
  int fd;
  struct uncached_read reading; /* by fd */
  bool is_stdin;
  struct stat opened; /* as it was then */
};

struct file_stream {
  struct stream stream;
  struct file_source *file;
  uint64_t position;
};

static void
file_close(struct source *source)
{
  struct file_source *file = (struct file_source *)source;
  uncached_read_clear(&file->reading);
  if (file->fd >= 0 && !file->is_stdin)
    (void)close(file->fd);
  source_clear(source);
  free(file);
}

static void
file_free(struct file_source *file)
{
  if (file)
    file_close(&file->source);
}

DEFINE_CLEANUP(struct file_source *, file_free)

static void
learn_regular(struct file_source *file)
{
  const struct stat *st = &file->opened;
  file->source.size = (uint64_t)st->st_size;
  /* Standard input may have been read from before: then it is taken as what is left of a pipe. */
  if (file->is_stdin && lseek(file->fd, 0, SEEK_CUR) != 0) {
    file->source.size = SOURCE_SIZE_UNKNOWN;
    return;
  }
  file->source.can_seek = file->source.can_resume = true;
  file->source.identity =
      xasprintf("file:%ju:%ju:%ju:%jd.%09ld", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino,
                (uintmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

/* What a device holds may change without a trace: it has no identity. */
static int
learn_device(struct file_source *file, struct error **err)
{
  uint64_t size;
  if (ioctl(file->fd, BLKGETSIZE64, &size) < 0)
    return error_set_errno(err, errno, "size of '%s'", file->source.label);
  file->source.size = size;
  file->source.can_seek = file->source.can_resume = true;
  return 0;
}

static int
learn(struct file_source *file, struct error **err)
{
  if (fstat(file->fd, &file->opened) < 0)
    return error_set_errno(err, errno, "open '%s'", file->source.label);
  file->source.size = SOURCE_SIZE_UNKNOWN;
  switch (file->opened.st_mode & S_IFMT) {
  case S_IFREG:
    learn_regular(file);
    return 0;
  case S_IFBLK:
    return learn_device(file, err);
  case S_IFDIR:
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is a folder", file->source.label);
  default:
    if (isatty(file->fd))
      return error_set(err, ERROR_INVALID_ARGUMENT, "%s is a terminal", file->source.label);
    return 0;
  }
}

static int
file_open(const char *url, const struct source_options *options, struct source **ret_source,
          struct error **err)
{
  (void)options;
  CLEANUP(file_freep) struct file_source *file = xcalloc(1, sizeof(*file));
  file->source.ops = &source_file_ops;
  file->fd = -1;
  file->reading.direct_fd = -1;
  CLEANUP(freep) char *path = NULL;
  if (file_url_path(url, &path, err) < 0)
    return -1;
  file->is_stdin = strcmp(url, "-") == 0;
  file->source.label = xstrdup(file->is_stdin ? "standard input" : path);
  file->fd = file->is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (file->fd < 0)
    return error_set_errno(err, errno, "open '%s'", path);
  if (learn(file, err) < 0)
    return -1;
  uncached_read_init(&file->reading, file->fd,
                     file->source.can_seek && !file->is_stdin ? path : NULL);
  *ret_source = &TAKE(file)->source;
  return 0;
}

static int
descriptor_open(const char *url, const struct source_options *options, struct source **ret_source,
                struct error **err)
{
  (void)options;
  CLEANUP(file_freep) struct file_source *file = xcalloc(1, sizeof(*file));
  const char *number = url + strlen(source_descriptor_ops.scheme);
  size_t digits = strcspn(number, ":");
  CLEANUP(freep) char *text = xstrndup(number, digits);
  uint64_t fd;
  file->source.ops = &source_descriptor_ops;
  file->fd = -1;
  file->reading.direct_fd = -1;
  if (number[digits] != ':' || text_to_u64(text, 10, &fd) < 0 || fd > INT_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is not of the form fd:NUMBER:NAME", url);
  file->source.label = xstrdup(number + digits + 1);
  file->fd = (int)fd;
  if (learn(file, err) < 0)
    return -1;
  uncached_read_init(&file->reading, file->fd, NULL);
  *ret_source = &TAKE(file)->source;
  return 0;
}

static int
check_unchanged(const struct file_source *file, struct error **err)
{
  struct stat now;
  if (!S_ISREG(file->opened.st_mode))
    return 0;
  if (fstat(file->fd, &now) < 0)
    return error_set_errno(err, errno, "read '%s'", file->source.label);
  const struct stat *was = &file->opened;
  if (now.st_size == was->st_size && now.st_mtim.tv_sec == was->st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == was->st_mtim.tv_nsec)
    return 0;
  return error_set(err, ERROR_FAILED_PRECONDITION, "'%s' changed while it was read",
                   file->source.label);
}

static int
file_read_at(struct source *source, void *buf, size_t len, uint64_t offset, struct error **err)
{
  struct file_source *file = (struct file_source *)source;
  for (size_t got = 0; got < len;) {
    ssize_t n = uncached_read_at(&file->reading, (char *)buf + got, len - got, offset + got);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return error_set_errno(err, errno, "read '%s'", source->label);
    if (n == 0 && check_unchanged(file, err) == 0)
      error_make(err, ERROR_DATA_LOSS, "'%s' ends too early", source->label);
    if (n == 0)
      return -1;
    got += (size_t)n;
  }
  return check_unchanged(file, err);
}

/* Holes are what the file system says; one that knows none says that all is data. A device does not
 * know at all. */
static int
file_data_range(struct source *source, uint64_t offset, uint64_t *ret_start, uint64_t *ret_end,
                struct error **err)
{
  struct file_source *file = (struct file_source *)source;
  off_t start = S_ISREG(file->opened.st_mode) ? lseek(file->fd, (off_t)offset, SEEK_DATA) : -1;
  off_t end = start >= 0 ? lseek(file->fd, start, SEEK_HOLE) : -1;
  bool is_hole = S_ISREG(file->opened.st_mode) && start < 0 && errno == ENXIO;
  uint64_t size = source->size;
  if (check_unchanged(file, err) < 0)
    return -1;
  *ret_start = is_hole ? size : end > start ? (uint64_t)start : offset;
  *ret_end = !is_hole && end > start && (uint64_t)end < size ? (uint64_t)end : size;
  return 0;
}

static ssize_t
file_stream_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct file_stream *reading = (struct file_stream *)stream;
  struct file_source *file = reading->file;
  ssize_t n;
  do {
    n = file->source.can_seek ? pread(file->fd, buf, len, (off_t)reading->position)
                              : read(file->fd, buf, len);
  } while (n < 0 && errno == EINTR);
  if (n < 0)
    return error_set_errno(err, errno, "read '%s'", file->source.label);
  reading->position += (uint64_t)n;
  if (check_unchanged(file, err) < 0)
    return -1;
  if (n == 0 && len > 0 && file->source.size != SOURCE_SIZE_UNKNOWN &&
      reading->position < file->source.size)
    return error_set(err, ERROR_DATA_LOSS, "'%s' ends too early", file->source.label);
  return n;
}

static int
file_stream_save(struct stream *stream, struct buffer *state, struct error **err)
{
  (void)err;
  buffer_append_u64(state, ((struct file_stream *)stream)->position);
  return 0;
}

static void
file_stream_close(struct stream *stream)
{
  free(stream);
}

static const struct stream_ops file_stream_ops = {
    .name = "file",
    .read = file_stream_read,
    .save = file_stream_save,
    .close = file_stream_close,
};

static const struct stream_ops pipe_stream_ops = {
    .name = "pipe",
    .read = file_stream_read,
    .close = file_stream_close,
};

static int
file_stream(struct source *source, uint64_t offset, struct stream **ret_stream, struct error **err)
{
  (void)err;
  struct file_stream *reading = xcalloc(1, sizeof(*reading));
  reading->stream.ops = source->can_seek ? &file_stream_ops : &pipe_stream_ops;
  reading->file = (struct file_source *)source;
  reading->position = offset;
  if (source->can_seek)
    (void)posix_fadvise(reading->file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  *ret_stream = &reading->stream;
  return 0;
}

const struct source_ops source_file_ops = {
    .scheme = FILE_URL_SCHEME,
    .open = file_open,
    .read_at = file_read_at,
    .stream = file_stream,
    .data_range = file_data_range,
    .close = file_close,
};

const struct source_ops source_descriptor_ops = {
    .scheme = "fd:",
    .open = descriptor_open,
    .read_at = file_read_at,
    .stream = file_stream,
    .data_range = file_data_range,
    .close = file_close,
};
