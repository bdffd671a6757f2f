/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/target_path.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "nodeplugin/sys_call.h"

/* Every part is a plain name: none is empty, "." or "..". */
static bool
is_normal(const char *path)
{
  if (*path != '/' || strlen(path) >= PATH_MAX)
    return false;
  while (*path) {
    size_t len = strcspn(++path, "/");
    if (len == 0 || (len <= 2 && strncmp(path, "..", len) == 0) || len > NAME_MAX)
      return false;
    path += len;
  }
  return true;
}

/* Walks from base to a folder below it. */
static int
open_below(const char *base, const char *below)
{
  CLEANUP(closep) int base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (base_fd < 0)
    return -1;
  struct open_how how = {
      .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  return (int)syscall(SYS_openat2, base_fd, below, &how, sizeof(how));
}

static int
open_parent(const char *base, const char *field, const char *path, const char *below,
            int *ret_parent, struct error **err)
{
  const char *name = strrchr(below, '/');
  CLEANUP(freep) char *folder = name ? xstrndup(below, (size_t)(name - below)) : xstrdup(".");
  int fd = open_below(base, folder);
  if (fd >= 0) {
    *ret_parent = fd;
    return 0;
  }
  if (errno == ENOENT)
    return error_set(err, ERROR_NOT_FOUND, "%s '%s': its folder does not exist", field, path);
  if (errno == ELOOP || errno == EXDEV || errno == ENOTDIR)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "%s '%s': a symbolic link, or what is no folder, is on its way", field, path);
  return error_set_errno(err, errno, "%s '%s'", field, path);
}

/* What of a path is below a folder; NULL when it is not in there. */
static const char *
find_below(const char *folder, const char *path)
{
  size_t len = strlen(folder);
  while (len > 1 && folder[len - 1] == '/')
    len--;
  return strncmp(path, folder, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

char *
target_base_resolve(const struct target_base *base, const char *path)
{
  const char *below = find_below(base->real, path) ? NULL : find_below(base->given, path);
  return below ? xasprintf("%s/%s", base->real, below) : xstrdup(path);
}

int
target_path_open(const struct target_base *base, const char *field, const char *path,
                 struct target_path *ret_target, struct error **err)
{
  if (!*path)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s is needed", field);
  if (!is_normal(path))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "%s '%.256s': an absolute path without '.', '..' and empty parts is needed",
                     field, path);
  CLEANUP(freep) char *real = target_base_resolve(base, path);
  const char *below = find_below(base->real, real);
  if (!below)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "%s '%.256s' lies outside of '%s' (--kubelet-dir): refused", field, path,
                     base->real);
  const char *slash = strrchr(below, '/');
  struct target_path target = {.parent = -1};
  if (open_parent(base->real, field, path, below, &target.parent, err) < 0)
    return -1;
  target.name = xstrdup(slash ? slash + 1 : below);
  target.real = TAKE(real);
  target.by_fd = xasprintf("/proc/self/fd/%d/%s", target.parent, target.name);
  struct stat now;
  if (target_path_stat(&target, &now) && S_ISLNK(now.st_mode)) {
    target_path_clear(&target);
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s '%s' is a symbolic link: refused", field,
                     path);
  }
  *ret_target = target;
  return 0;
}

void
target_path_clear(struct target_path *target)
{
  if (target->real && target->parent >= 0)
    (void)close(target->parent);
  free(target->name);
  free(target->real);
  free(target->by_fd);
  *target = (struct target_path){.parent = -1};
}

bool
target_path_stat(const struct target_path *target, struct stat *ret_stat)
{
  return fstatat(target->parent, target->name, ret_stat, AT_SYMLINK_NOFOLLOW) == 0;
}

int
target_path_make_folder(const struct target_path *target, struct error **err)
{
  struct stat now;
  if (SYS_CALL(mkdirat(target->parent, target->name, 0750)) == 0)
    return 0;
  if (errno != EEXIST)
    return error_set_errno(err, errno, "make folder '%s'", target->real);
  if (!target_path_stat(target, &now) || !S_ISDIR(now.st_mode))
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is there and is no folder", target->real);
  return 0;
}

int
target_path_make_file(const struct target_path *target, struct error **err)
{
  struct stat now;
  if (target_path_stat(target, &now)) {
    if (S_ISREG(now.st_mode) || S_ISBLK(now.st_mode))
      return 0;
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is there and is no file", target->real);
  }
  int fd = SYS_CALL(openat(target->parent, target->name,
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd < 0)
    return error_set_errno(err, errno, "make file '%s'", target->real);
  (void)close(fd);
  return 0;
}

int
target_path_remove(const struct target_path *target, struct error **err)
{
  struct stat now;
  if (!target_path_stat(target, &now))
    return 0;
  if (!S_ISDIR(now.st_mode) && (!S_ISREG(now.st_mode) || now.st_size > 0))
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "'%s' was not made by this driver: it is left alone", target->real);
  if (SYS_CALL(unlinkat(target->parent, target->name, S_ISDIR(now.st_mode) ? AT_REMOVEDIR : 0)) ==
          0 ||
      errno == ENOENT)
    return 0;
  if (errno == ENOTEMPTY || errno == EEXIST)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "'%s' holds files of its own: they are left alone", target->real);
  return error_set_errno(err, errno, "remove '%s'", target->real);
}
