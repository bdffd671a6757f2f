/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/memory.h"

char *
temp_dir_make(void)
{
  char *dir = xstrdup("/tmp/imprint-unit.XXXXXX");
  if (!mkdtemp(dir))
    abort();
  return dir;
}

static int
remove_one(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
  (void)info;
  (void)kind;
  (void)ftw;
  return remove(path);
}

void
temp_dir_remove(char *dir)
{
  if (!dir)
    return;
  (void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  free(dir);
}

char *
temp_dir_path(const char *dir, const char *name)
{
  return xasprintf("%s/%s", dir, name);
}

void
temp_dir_write(const char *dir, const char *name, const char *text)
{
  CLEANUP(freep) char *path = temp_dir_path(dir, name);
  CLEANUP(freep) char *passing = xasprintf("%s.new", path);
  CLEANUP(closep) int fd = open(passing, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  size_t len = strlen(text);
  if (fd < 0 || write(fd, text, len) != (ssize_t)len || rename(passing, path) < 0)
    abort();
}

char *
temp_dir_read(const char *dir, const char *name)
{
  CLEANUP(freep) char *path = temp_dir_path(dir, name);
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return NULL;
  char *text = NULL;
  size_t len = 0;
  ssize_t got;
  do {
    text = xrealloc(text, len + 4096 + 1, 1);
    got = read(fd, text + len, 4096);
    len += got > 0 ? (size_t)got : 0;
  } while (got > 0);
  text[len] = '\0';
  return text;
}
