/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/uncached_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

#define FILE_BYTES ((size_t)(3 << 20) + 777)

struct fixture {
  char *dir;
  char *path;
  int fd;
  unsigned char *content;
  unsigned char *buf; /* at the beginning of a page; room for a page in front of the content */
};

static struct fixture
fixture_make(void)
{
  struct fixture f = {.dir = temp_dir_make()};
  f.path = temp_dir_path(f.dir, "disk.img");
  f.content = xcalloc(1, FILE_BYTES);
  for (size_t i = 0; i < FILE_BYTES; i++)
    f.content[i] = (unsigned char)(i * 7 + (i >> 9));
  f.fd = open(f.path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  REQUIRE(f.fd >= 0 && write(f.fd, f.content, FILE_BYTES) == (ssize_t)FILE_BYTES);
  f.buf = mmap(NULL, FILE_BYTES + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(f.buf != MAP_FAILED);
  return f;
}

static void
fixture_clear(struct fixture *f)
{
  (void)munmap(f->buf, FILE_BYTES + 8192);
  (void)close(f->fd);
  free(f->content);
  free(f->path);
  temp_dir_remove(f->dir);
}

/* Out of the cache, as far as the kernel obeys. */
static void
forget(const struct fixture *f)
{
  REQUIRE(fsync(f->fd) == 0);
  (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* Reads [offset, offset + len) into buf + at and compares. */
static void
check_read(const struct fixture *f, struct uncached_read *reading, size_t at, size_t offset,
           size_t len)
{
  for (size_t got = 0; got < len;) {
    ssize_t n = uncached_read_at(reading, f->buf + at + got, len - got, offset + got);
    REQUIRE(n > 0);
    got += (size_t)n;
  }
  CHECK_NUMBER(memcmp(f->buf + at, f->content + offset, len), 0);
}

static void
test_every_place_reads_right(void)
{
  CLEANUP(fixture_clear) struct fixture f = fixture_make();
  struct uncached_read reading;
  uncached_read_init(&reading, f.fd, f.path);
  static const size_t offsets[] = {0, 1, 4095, 4096, 1 << 20, (1 << 20) + 513};
  for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
    size_t offset = offsets[i];
    forget(&f);
    check_read(&f, &reading, offset % 4096, offset, FILE_BYTES - offset); /* can be direct */
    forget(&f);
    check_read(&f, &reading, offset % 4096 + 1, offset, 1 << 20); /* cannot */
    check_read(&f, &reading, offset % 4096, offset, 1 << 20);     /* from the cache */
    forget(&f);
    check_read(&f, &reading, 0, offset, 100);
  }
  uncached_read_clear(&reading);
}

static void
test_the_end_is_seen(void)
{
  CLEANUP(fixture_clear) struct fixture f = fixture_make();
  struct uncached_read reading;
  uncached_read_init(&reading, f.fd, f.path);
  forget(&f);
  size_t last = (size_t)3 << 20;
  CHECK_NUMBER(uncached_read_at(&reading, f.buf, 1 << 20, last), 777);
  CHECK_NUMBER(uncached_read_at(&reading, f.buf, 1 << 20, FILE_BYTES), 0);
  CHECK_NUMBER(uncached_read_at(&reading, f.buf, 1 << 20, 4 << 20), 0);
  uncached_read_clear(&reading);
}

static void
test_another_file_at_the_path_is_not_read(void)
{
  CLEANUP(fixture_clear) struct fixture f = fixture_make();
  temp_dir_write(f.dir, "disk.img", "another");
  struct uncached_read reading;
  uncached_read_init(&reading, f.fd, f.path);
  CHECK_NUMBER(reading.direct_fd, -1);
  check_read(&f, &reading, 0, 0, FILE_BYTES);
  uncached_read_clear(&reading);
}

static void
test_a_disk_that_takes_no_direct_reads_is_read_plainly(void)
{
  CLEANUP(fixture_clear) struct fixture f = fixture_make();
  struct uncached_read reading;
  uncached_read_init(&reading, f.fd, NULL);
  CHECK_NUMBER(reading.direct_fd, -1);
  forget(&f);
  check_read(&f, &reading, 0, 0, FILE_BYTES);
  uncached_read_clear(&reading);
  uncached_read_init(&reading, -1, NULL);
  CHECK_NUMBER(uncached_read_at(&reading, f.buf, 1, 0), -1);
  CHECK_NUMBER(errno, EBADF);
}

UNIT_MAIN("populator/source/uncached_read", UNIT_TEST(test_every_place_reads_right),
          UNIT_TEST(test_the_end_is_seen), UNIT_TEST(test_another_file_at_the_path_is_not_read),
          UNIT_TEST(test_a_disk_that_takes_no_direct_reads_is_read_plainly))
