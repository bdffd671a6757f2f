/* SPDX-License-Identifier: Apache-2.0 */
/* Doors to the kernel that have been open too wide too often. Each is knocked at with arguments
 * that do no harm; it is refused when it is not the kernel itself that answers. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sandbox/attempt.h"

/* Any system call by its number, with no arguments. */
static int
call(char *const *args)
{
  return syscall(strtol(args[0], NULL, 10), 0, 0, 0, 0, 0, 0) < 0 ? errno : 0;
}

static int
mount_folder(char *const *args)
{
  return mount("none", args[0], "tmpfs", 0, NULL) < 0 ? errno : 0;
}

static int
new_user_namespace(char *const *args)
{
  (void)args;
  return unshare(CLONE_NEWUSER) < 0 ? errno : 0;
}

/* The other table of system calls that the same processor has: int 0x80. Its 20 is getpid. */
static int
call_as_32_bit(char *const *args)
{
  (void)args;
#ifdef __x86_64__
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
  return result < 0 ? (int)-result : 0;
#else
  return EPERM;
#endif
}

const struct attempt kernel_attempts[] = {
    {"call", 1, call},
    {"mount", 1, mount_folder},
    {"new-user-namespace", 0, new_user_namespace},
    {"call-as-32-bit", 0, call_as_32_bit},
    {0},
};
