/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/device_opener.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "nodeplugin/process_words.h"

/* What is known of it is enough: a file of a server that is away must not be asked for. */
static bool
is_device(int folder, const char *name, dev_t device)
{
  struct statx now;
  return statx(folder, name, AT_STATX_DONT_SYNC, STATX_TYPE, &now) == 0 && S_ISBLK(now.stx_mode) &&
         makedev(now.stx_rdev_major, now.stx_rdev_minor) == device;
}

static bool
has_open(pid_t pid, dev_t device)
{
  CLEANUP(freep) char *path = xasprintf("/proc/%d/fd", (int)pid);
  DIR *files = opendir(path);
  bool found = false;
  for (const struct dirent *entry; files && !found && (entry = readdir(files));)
    found = entry->d_name[0] != '.' && is_device(dirfd(files), entry->d_name, device);
  if (files)
    (void)closedir(files);
  return found;
}

pid_t
device_opener_find(dev_t device, const char *except)
{
  DIR *processes = opendir("/proc");
  pid_t found = 0;
  for (const struct dirent *entry; processes && found == 0 && (entry = readdir(processes));) {
    uint64_t pid;
    if (text_to_u64(entry->d_name, 10, &pid) == 0 && (pid_t)pid != getpid() &&
        has_open((pid_t)pid, device) && !process_words_has((pid_t)pid, except))
      found = (pid_t)pid;
  }
  if (processes)
    (void)closedir(processes);
  return found;
}
