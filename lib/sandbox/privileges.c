/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

int
privileges_set_user(uid_t uid, gid_t gid, struct error **err)
{
  int death_signal = 0;
  (void)prctl(PR_GET_PDEATHSIG, &death_signal);
  if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
    return error_set_errno(err, errno, "become user %u, group %u", (unsigned)uid, (unsigned)gid);
  if (death_signal != 0 && prctl(PR_SET_PDEATHSIG, death_signal) < 0)
    return error_set_errno(err, errno, "die with the parent");
  return 0;
}

int
privileges_no_new(void)
{
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? errno : 0;
}

static int
get_capabilities(struct __user_cap_data_struct data[2])
{
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  return syscall(SYS_capget, &header, data) < 0 ? errno : 0;
}

void
privileges_empty_bounding_set(void)
{
  for (int number = 0; number < 64; number++) {
    if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0)
      return; /* no right to, or there are no more */
  }
}

int
privileges_drop_capabilities(uint64_t keep)
{
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  struct __user_cap_data_struct data[2];
  int r = get_capabilities(data);
  if (r != 0)
    return r;
  for (unsigned i = 0; i < 2; i++) {
    data[i].permitted &= (uint32_t)(keep >> (32 * i));
    data[i].effective = data[i].permitted;
    data[i].inheritable = 0;
  }
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  return syscall(SYS_capset, &header, data) < 0 ? errno : 0;
}

bool
privileges_have_capability(int number)
{
  struct __user_cap_data_struct data[2];
  return get_capabilities(data) == 0 && (data[number / 32].effective >> (number % 32) & 1) != 0;
}

static int
lower_limit(int resource, uint64_t value)
{
  struct rlimit limit;
  if (value == 0)
    return 0;
  if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
    return errno;
  if (limit.rlim_max > value) /* RLIM_INFINITY is the largest number */
    limit.rlim_max = value;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit((__rlimit_resource_t)resource, &limit) < 0 ? errno : 0;
}

int
privileges_limit(const struct privileges_limits *limits)
{
  const struct {
    int resource;
    uint64_t value;
  } table[] = {
      {RLIMIT_NOFILE, limits->files},    {RLIMIT_DATA, limits->data_bytes},
      {RLIMIT_AS, limits->memory_bytes}, {RLIMIT_NPROC, limits->processes},
      {RLIMIT_CPU, limits->cpu_seconds},
  };
  struct rlimit none = {0};
  if (setrlimit(RLIMIT_CORE, &none) < 0)
    return errno;
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
    int r = lower_limit(table[i].resource, table[i].value);
    if (r != 0)
      return r;
  }
  return 0;
}
