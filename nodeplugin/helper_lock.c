/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/helper_lock.h"

#include <errno.h>
#include <sys/file.h>
#include <unistd.h>

int
helper_lock_take(int fd)
{
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
    return fd;
  int cause = errno;
  if (fd >= 0)
    (void)close(fd);
  errno = cause;
  return -1;
}

bool
helper_lock_is_held(int taken)
{
  return taken < 0 && errno == EWOULDBLOCK;
}
