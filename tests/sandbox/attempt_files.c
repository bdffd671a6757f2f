/* SPDX-License-Identifier: Apache-2.0 */
/* Files: what Landlock, and where it has no say, the system call filter are there for. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "tests/sandbox/attempt.h"

static int
read_file(char *const *args)
{
  CLEANUP(closep) int fd = open(args[0], O_RDONLY | O_CLOEXEC);
  char byte;
  return fd < 0 || read(fd, &byte, 1) < 0 ? errno : 0;
}

static int
list_folder(char *const *args)
{
  CLEANUP(closep) int fd = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return fd < 0 ? errno : 0;
}

static int
write_file(char *const *args)
{
  CLEANUP(closep) int fd = open(args[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  return fd < 0 || write(fd, "x", 1) != 1 ? errno : 0;
}

static int
truncate_file(char *const *args)
{
  CLEANUP(closep) int fd = open(args[0], O_WRONLY | O_TRUNC | O_CLOEXEC);
  return fd < 0 ? errno : 0;
}

/* A descriptor that is open for nothing, made usable by way of /proc. */
static int
reopen_file(char *const *args)
{
  int fd = open(args[0], O_PATH | O_CLOEXEC);
  if (fd < 0)
    return errno;
  CLEANUP(freep) char *path = xasprintf("/proc/self/fd/%d", fd);
  return read_file((char *[]){path});
}

static int
remove_file(char *const *args)
{
  return unlink(args[0]) < 0 ? errno : 0;
}

static int
rename_file(char *const *args)
{
  return rename(args[0], args[1]) < 0 ? errno : 0;
}

static int
link_file(char *const *args)
{
  return link(args[0], args[1]) < 0 ? errno : 0;
}

static int
symlink_file(char *const *args)
{
  return symlink(args[0], args[1]) < 0 ? errno : 0;
}

static int
chmod_file(char *const *args)
{
  return chmod(args[0], 0777) < 0 ? errno : 0;
}

static int
chown_file(char *const *args)
{
  return chown(args[0], 12345, 12345) < 0 ? errno : 0;
}

static int
set_attribute(char *const *args)
{
  return setxattr(args[0], "user.imprint", "x", 1, 0) < 0 ? errno : 0;
}

static int
make_device(char *const *args)
{
  return mknod(args[0], S_IFBLK | 0600, makedev(7, 0)) < 0 ? errno : 0;
}

static int
make_fifo(char *const *args)
{
  return mkfifo(args[0], 0600) < 0 ? errno : 0;
}

/* Types into the terminal, or whatever it is, that it was started from. */
static int
type_into_terminal(char *const *args)
{
  (void)args;
  return ioctl(0, TIOCSTI, "x") < 0 ? errno : 0;
}

const struct attempt file_attempts[] = {
    {"read", 1, read_file},
    {"list", 1, list_folder},
    {"write", 1, write_file},
    {"truncate", 1, truncate_file},
    {"reopen", 1, reopen_file},
    {"remove", 1, remove_file},
    {"rename", 2, rename_file},
    {"link", 2, link_file},
    {"symlink", 2, symlink_file},
    {"chmod", 1, chmod_file},
    {"chown", 1, chown_file},
    {"set-attribute", 1, set_attribute},
    {"make-device", 1, make_device},
    {"make-fifo", 1, make_fifo},
    {"type-into-terminal", 0, type_into_terminal},
    {0},
};
