/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "nodeplugin/sys_call.h"

/* An attribute of sysfs has at most a page, and comes in one piece. */
#define ATTRIBUTE_MAX 4096

char *
sysfs_read(const char *folder, const char *name)
{
  CLEANUP(freep) char *path = xasprintf("%s/%s", folder, name);
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return NULL;
  char text[ATTRIBUTE_MAX];
  ssize_t len = read(fd, text, sizeof(text));
  while (len > 0 && text[len - 1] == '\n')
    len--;
  return len < 0 ? NULL : xstrndup(text, (size_t)len);
}

bool
sysfs_is(const char *folder, const char *name, const char *text)
{
  CLEANUP(freep) char *value = sysfs_read(folder, name);
  return value && strcmp(value, text) == 0;
}

int
sysfs_read_u64(const char *folder, const char *name, uint64_t *ret_value)
{
  CLEANUP(freep) char *text = sysfs_read(folder, name);
  if (!text)
    return -1;
  return text_starts_with(text, "0x") ? text_to_u64(text + 2, 16, ret_value)
                                      : text_to_u64(text, 10, ret_value);
}

int
sysfs_write(const char *path, const char *text)
{
  CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return errno;
  ssize_t r = SYS_CALL(write(fd, text, strlen(text)));
  return r < 0 ? errno : 0;
}

/* "rbd9" before "rbd10". */
static int
by_number(const void *a, const void *b)
{
  return strverscmp(*(char *const *)a, *(char *const *)b);
}

void
sysfs_list(const char *folder, const char *prefix, struct sysfs_names *ret_names)
{
  *ret_names = (struct sysfs_names){0};
  DIR *dir = opendir(folder);
  if (!dir)
    return;
  const struct dirent *entry;
  while ((entry = readdir(dir))) {
    if (entry->d_name[0] == '.' || !text_starts_with(entry->d_name, prefix))
      continue;
    ret_names->items = xrealloc(ret_names->items, ret_names->count + 1, sizeof(char *));
    ret_names->items[ret_names->count++] = xstrdup(entry->d_name);
  }
  (void)closedir(dir);
  if (ret_names->count > 1)
    qsort(ret_names->items, ret_names->count, sizeof(char *), by_number);
}

void
sysfs_names_clear(struct sysfs_names *names)
{
  for (size_t i = 0; i < names->count; i++)
    free(names->items[i]);
  free(names->items);
  *names = (struct sysfs_names){0};
}
