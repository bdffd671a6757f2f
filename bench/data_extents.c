/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/data_extents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/memory.h"

#define BLOCK_BYTES ((uint64_t)64 << 10)

static void
add_block(struct data_file *file, uint64_t offset, size_t len, size_t piece_bytes)
{
  struct data_extent *last = file->count ? &file->extents[file->count - 1] : NULL;
  if (last && last->offset + last->len == offset && offset % piece_bytes != 0) {
    last->len += len;
    return;
  }
  file->extents = xrealloc(file->extents, file->count + 1, sizeof(file->extents[0]));
  file->extents[file->count++] = (struct data_extent){.offset = offset, .len = len};
}

static bool
is_zero(const char *bytes, size_t len)
{
  return bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

/* What the file system says is a hole is never touched. Reading the rest brings it into memory. */
static int
find_extents(struct data_file *file, int fd, size_t piece_bytes)
{
  off_t at = 0;
  while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
    off_t end = lseek(fd, at, SEEK_HOLE);
    if (end < 0)
      return -1;
    uint64_t block = (uint64_t)at / BLOCK_BYTES * BLOCK_BYTES;
    for (; block < (uint64_t)end; block += BLOCK_BYTES) {
      uint64_t left = file->size - block;
      size_t len = (size_t)(left < BLOCK_BYTES ? left : BLOCK_BYTES);
      if (!is_zero(file->bytes + block, len))
        add_block(file, block, len, piece_bytes);
    }
    at = (off_t)(block < file->size ? block : file->size);
  }
  return errno == ENXIO ? 0 : -1;
}

int
data_file_open(const char *path, size_t piece_bytes, struct data_file *ret_file, struct error **err)
{
  struct data_file file = {0};
  struct stat status;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &status) < 0)
    return error_set_errno(err, errno, "open '%s'", path);
  file.size = (uint64_t)status.st_size;
  void *bytes = mmap(NULL, file.size, PROT_READ, MAP_SHARED, fd, 0);
  if (bytes == MAP_FAILED) {
    error_make_errno(err, errno, "map '%s'", path);
    (void)close(fd);
    return -1;
  }
  file.bytes = bytes;
  int r = find_extents(&file, fd, piece_bytes);
  if (r < 0) {
    error_make_errno(err, errno, "read '%s'", path);
    data_file_close(&file);
  } else {
    *ret_file = file;
  }
  (void)close(fd);
  return r;
}

void
data_file_close(struct data_file *file)
{
  if (file->bytes)
    (void)munmap((void *)file->bytes, file->size);
  free(file->extents);
  *file = (struct data_file){0};
}
