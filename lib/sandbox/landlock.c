/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Debian's headers are of Linux 6.1 (ABI 2); these came later. The ruleset's attribute has grown
 * meanwhile, and the kernel takes it in any of its sizes. */
#define ACCESS_FS_TRUNCATE (1ULL << 14)        /* ABI 3 */
#define ACCESS_NET_BIND_TCP (1ULL << 0)        /* ABI 4 */
#define ACCESS_NET_CONNECT_TCP (1ULL << 1)     /* ABI 4 */
#define ACCESS_FS_IOCTL_DEV (1ULL << 15)       /* ABI 5 */
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0) /* ABI 6 */
#define SCOPE_SIGNAL (1ULL << 1)               /* ABI 6 */

struct ruleset {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

#define READ_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define EXECUTE_RIGHTS (READ_RIGHTS | LANDLOCK_ACCESS_FS_EXECUTE)
#define WRITE_RIGHTS                                                                               \
  (READ_RIGHTS | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |                     \
   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |  \
   ACCESS_FS_TRUNCATE)
/* A rule on a file may name only these. */
#define FILE_RIGHTS                                                                                \
  (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |     \
   ACCESS_FS_TRUNCATE | ACCESS_FS_IOCTL_DEV)

int
landlock_abi(void)
{
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? (int)abi : 0;
}

/* Everything to do with files that the kernel can deny. */
static uint64_t
all_file_rights(int abi)
{
  uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1; /* ABI 1: up to this one */
  if (abi >= 2)
    rights |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3)
    rights |= ACCESS_FS_TRUNCATE;
  if (abi >= 5)
    rights |= ACCESS_FS_IOCTL_DEV;
  return rights;
}

static int
create_ruleset(const struct landlock_options *options, struct ruleset *ruleset)
{
  int abi = landlock_abi();
  size_t size = sizeof(*ruleset);
  ruleset->handled_access_fs = all_file_rights(abi);
  ruleset->handled_access_net =
      ACCESS_NET_BIND_TCP | (options->denies_connecting ? ACCESS_NET_CONNECT_TCP : 0);
  ruleset->scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
  if (abi < 4)
    size = offsetof(struct ruleset, handled_access_net);
  else if (abi < 6)
    size = offsetof(struct ruleset, scoped);
  return (int)syscall(SYS_landlock_create_ruleset, ruleset, size, 0);
}

static int
add_path(int ruleset_fd, const char *path, uint64_t rights, struct error **err)
{
  CLEANUP(closep) int fd = open(path, O_PATH | O_CLOEXEC);
  struct stat stat;
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
    return 0;
  if (fd < 0 || fstat(fd, &stat) < 0)
    return error_set_errno(err, errno, "open '%s'", path);
  struct landlock_path_beneath_attr rule = {.parent_fd = fd, .allowed_access = rights};
  if (!S_ISDIR(stat.st_mode))
    rule.allowed_access &= FILE_RIGHTS;
  if (syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
    return error_set_errno(err, errno, "allow '%s' in Landlock", path);
  return 0;
}

static int
add_paths(int ruleset_fd, const char *const *paths, uint64_t rights, struct error **err)
{
  for (; paths && *paths; paths++) {
    if (add_path(ruleset_fd, *paths, rights, err) < 0)
      return -1;
  }
  return 0;
}

int
landlock_ruleset(const struct landlock_options *options, int *ret_fd, struct error **err)
{
  struct ruleset ruleset;
  int fd = create_ruleset(options, &ruleset);
  if (fd < 0)
    return error_set_errno(err, errno, "make a Landlock ruleset");
  uint64_t known = ruleset.handled_access_fs;
  if (add_paths(fd, options->read, READ_RIGHTS & known, err) < 0 ||
      add_paths(fd, options->write, WRITE_RIGHTS & known, err) < 0 ||
      add_paths(fd, options->execute, EXECUTE_RIGHTS & known, err) < 0) {
    (void)close(fd);
    return -1;
  }
  *ret_fd = fd;
  return 0;
}

int
landlock_restrict(int ruleset_fd)
{
  return syscall(SYS_landlock_restrict_self, ruleset_fd, 0) < 0 ? errno : 0;
}
