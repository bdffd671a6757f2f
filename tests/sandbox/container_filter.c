/* SPDX-License-Identifier: Apache-2.0 */
/* container_filter PROGRAM [ARGUMENT...]: runs a program under what containerd's and Docker's
 * default filter refuses a container without capabilities (RuntimeDefault in Kubernetes). */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char *const refused[] = {
    /* of other processes */
    "kcmp", "pidfd_getfd", "process_madvise", "process_vm_readv", "process_vm_writev", "ptrace",
    /* of the machine */
    "acct", "bpf", "clock_adjtime", "clock_settime", "delete_module", "fanotify_init",
    "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "init_module", "io_uring_enter",
    "io_uring_register", "io_uring_setup", "ioperm", "iopl", "kexec_file_load", "kexec_load",
    "lookup_dcookie", "mount", "mount_setattr", "move_mount", "move_pages", "open_by_handle_at",
    "open_tree", "perf_event_open", "pivot_root", "quotactl", "quotactl_fd", "reboot",
    "setdomainname", "sethostname", "setns", "settimeofday", "swapoff", "swapon", "syslog",
    "umount2", "unshare", "userfaultfd", "vhangup",
    /* keys and memory of several processes */
    "add_key", "get_mempolicy", "keyctl", "mbind", "request_key", "set_mempolicy"};

int
main(int argc, char **argv)
{
  scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
  if (argc < 2 || !context)
    return 2;
  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
    int number = seccomp_syscall_resolve_name(refused[i]);
    if (number != __NR_SCMP_ERROR)
      (void)seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), number, 0);
  }
  int r = seccomp_load(context); /* with no_new_privs, as pods have it */
  if (r == 0)
    (void)execv(argv[1], argv + 1);
  perror(argv[1]);
  return 3;
}
