/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/kernel_check.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* LOOP_CONFIGURE, of Linux 5.8, cannot be asked for without a device; a kernel that has the last of
 * these has it too. */
static const struct {
  long number;
  const char *name, *since;
} calls[] = {
    {SYS_openat2, "openat2", "5.6"},
    {SYS_close_range, "close_range", "5.9"},
    {SYS_mount_setattr, "mount_setattr", "5.12"},
};

int
kernel_check_call(long number, const char *name, const char *since, struct error **err)
{
  struct utsname kernel;
  if (syscall(number, -1, -1, -1, -1, -1) == 0 || errno != ENOSYS)
    return 0;
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "the kernel, %s, has no %s(), or a seccomp filter hides it: Linux %s is needed",
                   uname(&kernel) == 0 ? kernel.release : "of whatever release", name, since);
}

int
kernel_check(struct error **err)
{
  for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
    if (kernel_check_call(calls[i].number, calls[i].name, calls[i].since, err) < 0)
      return -1;
  }
  return 0;
}
