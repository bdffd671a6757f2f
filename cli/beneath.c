/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel itself walks the path, and stops where it would leave the folder: whoever can write
 * there cannot win a race against a check. The file is not opened for reading before it is known to
 * be one, since opening a device or a pipe may do something. */
#include "cli/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

static const char *folder;

static const struct flag flags[] = {
    {"beneath", FLAG_TEXT, &folder, "DIR",
     "take the source only if it is a file below DIR, reached without links", NULL},
};

const struct flag_set beneath_flags = {flags, sizeof(flags) / sizeof(flags[0])};

/* What a folder stands for: so was it with the operator that read files of nodes before. */
#define DISK "disk.img"

/* What of the path is below the folder, "." for itself; NULL when it is elsewhere. */
static const char *
below(const char *path)
{
  size_t len = strlen(folder);
  while (len > 1 && folder[len - 1] == '/')
    len--;
  if (strncmp(path, folder, len) != 0 || (path[len] && path[len] != '/'))
    return NULL;
  path += len + strspn(path + len, "/");
  return *path ? path : ".";
}

static int
refuse(int reason, const char *path, struct error **err)
{
  switch (reason) {
  case ENOENT:
  case ENOTDIR:
    return error_set(err, ERROR_NOT_FOUND,
                     "there is no file '%s', nor a folder with a " DISK " in it", path);
  case ELOOP:
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%s' is a symbolic link or lies behind one: name the file itself", path);
  case EXDEV:
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' leads out of '%s'", path, folder);
  default:
    return error_set_errno(err, reason, "open '%s'", path);
  }
}

/* A descriptor that only says where something is, and what that is. */
static int
find_in(int place, const char *name, struct stat *ret_found)
{
  const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                               .resolve =
                                   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  int found = (int)syscall(SYS_openat2, place, name, &how, sizeof(how));
  if (found < 0 || fstat(found, ret_found) == 0)
    return found;
  (void)close(found);
  return -1;
}

/* As above; the disk in a folder for the folder. */
static int
find_disk(int root, const char *name, struct stat *ret_found)
{
  int place = find_in(root, name, ret_found);
  if (place < 0 || !S_ISDIR(ret_found->st_mode))
    return place;
  int disk = find_in(place, DISK, ret_found);
  int reason = errno;
  (void)close(place);
  errno = reason;
  return disk;
}

static int
find(const char *path, int *ret_place, struct error **err)
{
  const char *rest = below(path);
  struct stat found;
  if (!rest)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is not below '%s'", path, folder);
  CLEANUP(closep) int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0)
    return error_set_errno(err, errno, "open '%s'", folder);
  int place = find_disk(root, rest, &found);
  if (place < 0)
    return refuse(errno, path, err);
  if (S_ISREG(found.st_mode)) {
    *ret_place = place;
    return 0;
  }
  (void)close(place);
  return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is not a regular file", path);
}

int
beneath_source(const char *url, char **ret_url, struct error **err)
{
  if (!folder) {
    *ret_url = xstrdup(url);
    return 0;
  }
  CLEANUP(closep) int place = -1;
  if (find(url, &place, err) < 0)
    return -1;
  CLEANUP(freep) char *again = xasprintf("/proc/self/fd/%d", place);
  int fd = open(again, O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == EACCES)
    return error_set(err, ERROR_PERMISSION_DENIED,
                     "'%s' may not be read by user %u: change its owner or its mode", url,
                     (unsigned)geteuid());
  if (fd < 0)
    return error_set_errno(err, errno, "open '%s'", url);
  *ret_url = xasprintf("fd:%d:%s", fd, url);
  return 0;
}
