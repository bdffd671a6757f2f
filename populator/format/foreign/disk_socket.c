/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/foreign/disk_socket.h"

#include <errno.h>
#include <sys/socket.h>

bool
disk_socket_read(int fd, void *buf, size_t len)
{
  for (size_t at = 0; at < len;) {
    ssize_t n = recv(fd, (char *)buf + at, len - at, MSG_WAITALL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    at += (size_t)n;
  }
  return true;
}

bool
disk_socket_write(int fd, const void *buf, size_t len)
{
  for (size_t at = 0; at < len;) {
    ssize_t n = send(fd, (const char *)buf + at, len - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    at += (size_t)n;
  }
  return true;
}

bool
disk_socket_skip(int fd, size_t len)
{
  char waste[4096];
  while (len > 0) {
    size_t part = len < sizeof(waste) ? len : sizeof(waste);
    if (!disk_socket_read(fd, waste, part))
      return false;
    len -= part;
  }
  return true;
}
