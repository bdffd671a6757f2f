/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/uncached_read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* What addresses, offsets and lengths must be multiples of. Where a disk wants more, its first
 * answer is EINVAL, and reads are plain from then on. */
#define ALIGN ((size_t)4096)
/* Below this the cache does no harm. */
#define DIRECT_MIN_BYTES ((size_t)128 << 10)
/* Taken from the cache at once: where it ends, the kernel begins to read what is left of these. */
#define CACHED_STEP_BYTES ((size_t)512 << 10)

/* The file that fd is, by a descriptor whose reads are direct; -1 where there are no such. */
static int
open_direct(int fd, const char *path)
{
  struct stat one, other;
  int direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (direct < 0)
    return -1;
  if (fstat(fd, &one) == 0 && fstat(direct, &other) == 0 && one.st_dev == other.st_dev &&
      one.st_ino == other.st_ino)
    return direct;
  (void)close(direct); /* another file has taken its place */
  return -1;
}

void
uncached_read_init(struct uncached_read *reading, int fd, const char *path)
{
  reading->fd = fd;
  reading->direct_fd = path ? open_direct(fd, path) : -1;
  atomic_init(&reading->is_direct, reading->direct_fd >= 0);
  if (reading->direct_fd >= 0)
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* nothing is to be read ahead */
}

void
uncached_read_clear(struct uncached_read *reading)
{
  if (reading->direct_fd >= 0)
    (void)close(reading->direct_fd);
}

static ssize_t
read_if_cached(const struct uncached_read *reading, void *buf, size_t len, uint64_t offset)
{
  struct iovec part = {.iov_base = buf, .iov_len = len};
  return preadv2(reading->fd, &part, 1, (off_t)offset, RWF_NOWAIT);
}

/* What is in the cache; -1 with EAGAIN when nothing is. The first page tells: asking for more would
 * make the kernel read it. */
static ssize_t
read_cached(const struct uncached_read *reading, char *buf, size_t len, uint64_t offset)
{
  size_t first = ALIGN - (size_t)(offset % ALIGN);
  ssize_t n = read_if_cached(reading, buf, first, offset);
  if (n < (ssize_t)first)
    return n;
  size_t step = len < CACHED_STEP_BYTES ? len : CACHED_STEP_BYTES;
  ssize_t more = read_if_cached(reading, buf + first, step - first, offset + first);
  return more > 0 ? n + more : n;
}

ssize_t
uncached_read_at(struct uncached_read *reading, void *buf, size_t len, uint64_t offset)
{
  size_t before = (ALIGN - (size_t)(offset % ALIGN)) % ALIGN;
  if (!atomic_load(&reading->is_direct) || len < DIRECT_MIN_BYTES ||
      ((uintptr_t)buf + before) % ALIGN != 0)
    return pread(reading->fd, buf, len, (off_t)offset);
  ssize_t n = read_cached(reading, buf, len, offset);
  if (n >= 0 || errno == EINTR)
    return n;
  if (errno != EAGAIN)
    return pread(reading->fd, buf, len, (off_t)offset);
  if (before > 0) /* up to where the next read can be direct */
    return pread(reading->fd, buf, before, (off_t)offset);
  n = pread(reading->direct_fd, buf, len / ALIGN * ALIGN, (off_t)offset);
  if (n >= 0 || errno != EINVAL)
    return n;
  atomic_store(&reading->is_direct, false);
  return pread(reading->fd, buf, len, (off_t)offset);
}
