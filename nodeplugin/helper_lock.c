/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/helper_lock.h"

#include <errno.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"

/* Who only looks has it for a moment. */
#define TAKE_WAIT_MS 500
#define TAKE_PAUSE_MS 10

static bool
try_for_a_while(int fd)
{
  int64_t deadline_ms = clock_now_ms() + TAKE_WAIT_MS;
  while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK || clock_now_ms() > deadline_ms)
      return false;
    (void)nanosleep(&(struct timespec){.tv_nsec = TAKE_PAUSE_MS * 1000000L}, NULL);
  }
  return true;
}

int
helper_lock_take(int fd)
{
  if (fd >= 0 && try_for_a_while(fd))
    return fd;
  int cause = errno;
  if (fd >= 0)
    (void)close(fd);
  errno = cause;
  return -1;
}

bool
helper_lock_is_held(int fd)
{
  return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}
