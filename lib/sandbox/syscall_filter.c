/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/syscall_filter.h"

#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lib/base/memory.h"

/* A signal that does not kill must not break a question off and ask it again: the first asking may
 * have been acted upon. Linux 5.19. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

struct syscall_filter {
  scmp_filter_ctx context;
  int failure; /* of adding rules: -errno */
  struct sock_fprog program;
};

struct syscall_filter *
syscall_filter_new(void)
{
  struct syscall_filter *filter = xcalloc(1, sizeof(*filter));
  filter->context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (!filter->context)
    filter->failure = -ENOMEM;
  return filter;
}

void
syscall_filter_free(struct syscall_filter *filter)
{
  if (!filter)
    return;
  if (filter->context)
    seccomp_release(filter->context);
  free(filter->program.filter);
  free(filter);
}

static uint32_t
action_of(enum syscall_action action)
{
  switch (action) {
  case SYSCALL_ALLOW:
    return SCMP_ACT_ALLOW;
  case SYSCALL_UNKNOWN:
    return SCMP_ACT_ERRNO(ENOSYS);
  case SYSCALL_KILL:
    return SCMP_ACT_KILL_PROCESS;
  case SYSCALL_ASK:
    return SCMP_ACT_NOTIFY;
  case SYSCALL_REFUSE:
  default:
    return SCMP_ACT_ERRNO(EPERM);
  }
}

void
syscall_filter_add(struct syscall_filter *filter, const struct syscall_rule *rule)
{
  assert(rule->condition_count <= SYSCALL_CONDITIONS_MAX);
  int number = seccomp_syscall_resolve_name(rule->name);
  /* Refusing is what happens anyway, and libseccomp does not take it for a rule. */
  if (number < 0 || rule->action == SYSCALL_REFUSE || filter->failure != 0)
    return;
  struct scmp_arg_cmp compare[SYSCALL_CONDITIONS_MAX];
  for (unsigned i = 0; i < rule->condition_count; i++) {
    const struct syscall_condition *condition = &rule->conditions[i];
    compare[i] = (struct scmp_arg_cmp){.arg = condition->argument,
                                       .op = SCMP_CMP_MASKED_EQ,
                                       .datum_a = condition->mask,
                                       .datum_b = condition->value};
  }
  filter->failure = seccomp_rule_add_array(filter->context, action_of(rule->action), number,
                                           rule->condition_count, compare);
}

void
syscall_filter_add_names(struct syscall_filter *filter, const char *const *names,
                         enum syscall_action action)
{
  for (; *names; names++)
    syscall_filter_add(filter, &(struct syscall_rule){.name = *names, .action = action});
}

/* Reads what libseccomp wrote to a file in memory. */
static int
read_program(int fd, struct sock_fprog *ret_program)
{
  struct stat stat;
  if (fstat(fd, &stat) < 0)
    return -errno;
  size_t len = (size_t)stat.st_size;
  if (len == 0 || len % sizeof(struct sock_filter) != 0 ||
      len / sizeof(struct sock_filter) > BPF_MAXINSNS)
    return -E2BIG;
  CLEANUP(freep) struct sock_filter *instructions = xcalloc(1, len);
  if (pread(fd, instructions, len, 0) != (ssize_t)len)
    return -EIO;
  ret_program->len = (unsigned short)(len / sizeof(struct sock_filter));
  ret_program->filter = TAKE(instructions);
  return 0;
}

int
syscall_filter_compile(struct syscall_filter *filter, struct error **err)
{
  int r = filter->failure;
  CLEANUP(closep) int fd = memfd_create("syscall-filter", MFD_CLOEXEC);
  if (r == 0 && fd < 0)
    r = -errno;
  if (r == 0) /* a tree in place of a list: there are many rules */
    r = seccomp_attr_set(filter->context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (r == 0)
    r = seccomp_export_bpf(filter->context, fd);
  if (r == 0)
    r = read_program(fd, &filter->program);
  return r < 0 ? error_set_errno(err, -r, "compile a system call filter") : 0;
}

int
syscall_filter_install(const struct syscall_filter *filter, bool has_listener)
{
  unsigned long flags = has_listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
  unsigned long waiting = has_listener ? SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0;
  long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | waiting, &filter->program);
  if (r < 0 && errno == EINVAL && waiting != 0)
    r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter->program);
  return r < 0 ? -errno : (int)r;
}
