/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/note_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "nodeplugin/sys_call.h"

static char *
half_of(const char *path)
{
  return xasprintf("%s.half", path);
}

static int
write_file(const char *path, const char *text)
{
  CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return -1;
  return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

int
note_file_write(const char *path, const char *text)
{
  CLEANUP(freep) char *half = half_of(path);
  return SYS_CALL(write_file(half, text)) < 0 || SYS_CALL(rename(half, path)) < 0 ? -1 : 0;
}

void
note_file_drop_half(const char *path)
{
  CLEANUP(freep) char *half = half_of(path);
  (void)unlink(half);
}
