/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/block_device.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"

#define PAUSE_MS 20

static void
pause_a_moment(void)
{
  (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
}

int
block_device_number(const char *path, dev_t *ret_number, struct error **err)
{
  struct stat now;
  if (stat(path, &now) < 0)
    return error_set_errno(err, errno, "look at '%s'", path);
  if (!S_ISBLK(now.st_mode))
    return error_set(err, ERROR_FAILED_PRECONDITION, "'%s' is no block device", path);
  *ret_number = now.st_rdev;
  return 0;
}

int
block_device_size(const char *path, uint64_t *ret_bytes, struct error **err)
{
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 || ioctl(fd, BLKGETSIZE64, ret_bytes) < 0)
    return error_set_errno(err, errno, "read the size of '%s'", path);
  return 0;
}

int
block_device_wait_size(const char *path, uint64_t bytes, int64_t timeout_ms,
                       void (*nudge)(void *context), void *context, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + timeout_ms;
  for (;;) {
    uint64_t now_bytes;
    if (block_device_size(path, &now_bytes, err) < 0)
      return -1;
    if (now_bytes >= bytes)
      return 0;
    if (clock_now_ms() > deadline_ms) {
      char a[TEXT_BYTES_MAX], b[TEXT_BYTES_MAX];
      return error_set(err, ERROR_UNAVAILABLE,
                       "'%s' still has %s where the image has %s: call again", path,
                       text_of_bytes(now_bytes, a), text_of_bytes(bytes, b));
    }
    if (nudge)
      nudge(context);
    pause_a_moment();
  }
}

int
block_device_wait_unused(const char *path, int64_t timeout_ms, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + timeout_ms;
  for (;;) {
    /* A mounted filesystem holds its device exclusively; one more such claim is refused. */
    int fd = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
      (void)close(fd);
    if (fd >= 0 || errno != EBUSY)
      return 0;
    if (clock_now_ms() > deadline_ms)
      return error_set(err, ERROR_FAILED_PRECONDITION,
                       "'%s' is still mounted, in another mount namespace perhaps", path);
    pause_a_moment();
  }
}
