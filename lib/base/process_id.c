/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/process_id.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

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

char *
process_id_self(void)
{
  uint64_t ticks;
  uint64_t pid = (uint64_t)getpid();
  CLEANUP(freep) char *here = world();
  if (!here || start_time(pid, &ticks) < 0)
    return NULL;
  return xasprintf("%s/%" PRIu64 "/%" PRIu64, here, pid, ticks);
}

enum life { LIFE_UNKNOWN, LIFE_DEAD, LIFE_ALIVE };

static enum life
life_of(const char *text)
{
  CLEANUP(freep) char *here = world();
  if (!here || !text_starts_with(text, here) || text[strlen(here)] != '/')
    return LIFE_UNKNOWN;
  const char *at = text + strlen(here) + 1;
  size_t pid_len = strcspn(at, "/");
  uint64_t pid, ticks, now_ticks;
  CLEANUP(freep) char *digits = xstrndup(at, pid_len);
  if (at[pid_len] != '/' || text_to_u64(digits, 10, &pid) < 0 ||
      text_to_u64(at + pid_len + 1, 10, &ticks) < 0)
    return LIFE_UNKNOWN;
  if (start_time(pid, &now_ticks) < 0) /* where /proc is there, the process is not */
    return errno == ENOENT ? LIFE_DEAD : LIFE_UNKNOWN;
  return now_ticks == ticks ? LIFE_ALIVE : LIFE_DEAD;
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
