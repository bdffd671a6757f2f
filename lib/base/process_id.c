/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/process_id.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define PIDFS_MAGIC 0x50494446 /* Linux 6.9 */

static ssize_t
read_file(const char *path, char *buf, size_t room)
{
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return -1;
  ssize_t len = read(fd, buf, room - 1);
  if (len < 0)
    return -1;
  buf[len] = '\0';
  return len;
}

/* Field 22 of /proc/PID/stat, counted behind the name, which may hold anything. A process that has
 * ended and that nobody has waited for is as good as gone: ENOENT. */
static int
start_time(uint64_t pid, uint64_t *ret_ticks)
{
  char path[64];
  char stat[1024];
  (void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", pid);
  if (read_file(path, stat, sizeof(stat)) < 0)
    return -1;
  const char *at = strrchr(stat, ')');
  if (at && (strncmp(at, ") Z", 3) == 0 || strncmp(at, ") X", 3) == 0)) {
    errno = ENOENT;
    return -1;
  }
  for (int field = 2; at && field < 22; field++)
    at = strchr(at + 1, ' ');
  if (!at)
    return -1;
  CLEANUP(freep) char *digits = xstrndup(at + 1, strcspn(at + 1, " "));
  return text_to_u64(digits, 10, ret_ticks);
}

/* "<boot id>/<pid namespace>": where pids mean the same as for us. */
static char *
world(void)
{
  char boot[64];
  struct stat ns;
  if (read_file("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) < 0 ||
      stat("/proc/self/ns/pid", &ns) < 0)
    return NULL;
  boot[strcspn(boot, "\n")] = '\0';
  return xasprintf("%s/%" PRIu64, boot, (uint64_t)ns.st_ino);
}

/* A number that no other process gets before the next boot; 0 where the kernel has none. */
static uint64_t
number_of(int pidfd)
{
  struct statfs fs;
  struct stat st;
  return fstatfs(pidfd, &fs) == 0 && fs.f_type == PIDFS_MAGIC && fstat(pidfd, &st) == 0
             ? (uint64_t)st.st_ino
             : 0;
}

/* "<boot id>/<pid namespace>/<pid>.<number>/<start time>" */
char *
process_id_self(void)
{
  uint64_t ticks;
  uint64_t pid = (uint64_t)getpid();
  CLEANUP(freep) char *here = world();
  if (!here || start_time(pid, &ticks) < 0)
    return NULL;
  CLEANUP(closep) int pidfd = pidfd_open((pid_t)pid, 0);
  return xasprintf("%s/%" PRIu64 ".%" PRIu64 "/%" PRIu64, here, pid, number_of(pidfd), ticks);
}

enum life { LIFE_UNKNOWN, LIFE_DEAD, LIFE_ALIVE };

/* For one who is not let see other processes in /proc. */
static enum life
life_by_number(uint64_t pid, uint64_t number)
{
  CLEANUP(closep) int pidfd = pidfd_open((pid_t)pid, 0);
  if (pidfd < 0)
    return errno == ESRCH ? LIFE_DEAD : LIFE_UNKNOWN;
  struct pollfd ended = {.fd = pidfd, .events = POLLIN};
  if (poll(&ended, 1, 0) > 0)
    return LIFE_DEAD; /* be it the one or another with its pid */
  uint64_t now = number_of(pidfd);
  if (now == 0 || number == 0)
    return LIFE_UNKNOWN;
  return now == number ? LIFE_ALIVE : LIFE_DEAD;
}

static enum life
life_of(const char *text)
{
  CLEANUP(freep) char *here = world();
  if (!here || !text_starts_with(text, here) || text[strlen(here)] != '/')
    return LIFE_UNKNOWN;
  const char *at = text + strlen(here) + 1;
  size_t pid_len = strcspn(at, "./");
  size_t number_len = at[pid_len] == '.' ? strcspn(at + pid_len + 1, "/") : 0;
  const char *tail = at + pid_len + (number_len ? 1 + number_len : 0);
  uint64_t pid, number, ticks, now_ticks;
  CLEANUP(freep) char *pid_digits = xstrndup(at, pid_len);
  CLEANUP(freep) char *number_digits = xstrndup(at + pid_len + 1, number_len);
  if (number_len == 0 || *tail != '/' || text_to_u64(pid_digits, 10, &pid) < 0 || pid > INT32_MAX ||
      text_to_u64(number_digits, 10, &number) < 0 || text_to_u64(tail + 1, 10, &ticks) < 0)
    return LIFE_UNKNOWN;
  if (start_time(pid, &now_ticks) == 0)
    return now_ticks == ticks ? LIFE_ALIVE : LIFE_DEAD;
  if (errno == EACCES)
    return life_by_number(pid, number);
  return errno == ENOENT ? LIFE_DEAD : LIFE_UNKNOWN; /* where /proc is there, the process is not */
}

bool
process_id_is_dead(const char *text)
{
  return life_of(text) == LIFE_DEAD;
}

bool
process_id_is_alive(const char *text)
{
  return life_of(text) == LIFE_ALIVE;
}
