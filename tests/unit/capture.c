/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/capture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/memory.h"

void
capture_start(struct capture *capture)
{
  (void)fflush(stderr);
  capture->file = memfd_create("stderr", MFD_CLOEXEC);
  capture->saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  /* Appending: threads that write at once would overwrite each other in a memory file. */
  if (capture->file < 0 || fcntl(capture->file, F_SETFL, O_APPEND) < 0 || capture->saved < 0 ||
      dup2(capture->file, STDERR_FILENO) < 0)
    abort();
}

char *
capture_stop(struct capture *capture)
{
  (void)fflush(stderr);
  struct stat info;
  if (dup2(capture->saved, STDERR_FILENO) < 0 || fstat(capture->file, &info) < 0)
    abort();
  char *text = xcalloc((size_t)info.st_size + 1, 1);
  if (pread(capture->file, text, (size_t)info.st_size, 0) != info.st_size)
    abort();
  (void)close(capture->saved);
  (void)close(capture->file);
  return text;
}
