/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/sandbox_calls.h"

#include <asm/termbits.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define INT_MASK 0xffffffffULL
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const allowed[] = {
    /* files, as far as Landlock lets it */
    "access", "copy_file_range", "faccessat", "faccessat2", "fadvise64", "fallocate", "fdatasync",
    "flock", "fstat", "fstatfs", "fsync", "ftruncate", "getcwd", "getdents64", "lseek", "lstat",
    "mkdir", "mkdirat", "newfstatat", "open", "openat", "pread64", "preadv", "preadv2", "pwrite64",
    "pwritev", "pwritev2", "read", "readlink", "readlinkat", "readv", "rename", "renameat",
    "renameat2", "rmdir", "stat", "statfs", "statx", "sync_file_range", "umask", "unlink",
    "unlinkat", "write", "writev",
    /* memory */
    "brk", "madvise", "membarrier", "mincore", "mlock", "mlock2", "mremap", "msync", "munlock",
    "munmap",
    /* threads */
    "exit", "exit_group", "futex", "futex_waitv", "get_robust_list", "rseq",
    "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getattr",
    "sched_getparam", "sched_getscheduler", "sched_yield", "set_robust_list", "set_tid_address",
    "gettid",
    /* waiting */
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait",
    "eventfd", "eventfd2", "pipe", "pipe2", "poll", "ppoll", "pselect6", "select",
    /* time */
    "clock_getres", "clock_gettime", "clock_nanosleep", "gettimeofday", "nanosleep", "time",
    "timerfd_create", "timerfd_gettime", "timerfd_settime", "times",
    /* signals, of its own */
    "restart_syscall", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn",
    "rt_sigsuspend", "rt_sigtimedwait", "sigaltstack", "signalfd4",
    /* sockets that are connected */
    "getpeername", "getsockname", "getsockopt", "recvfrom", "shutdown",
    /* what it is and how much it has used */
    "arch_prctl", "capget", "getcpu", "getegid", "geteuid", "getgid", "getgroups", "getpgid",
    "getpgrp", "getpid", "getppid", "getrandom", "getresgid", "getresuid", "getrlimit", "getrusage",
    "getsid", "getuid", "sysinfo", "uname", "wait4", "waitid",
    /* whether a process is there: what could be done with it is refused */
    "pidfd_open", NULL};

/* Libraries try these and do without. glibc starts threads by clone3, whose flags lie in memory,
 * out of the filter's sight; without it, by clone. */
static const char *const unknown[] = {"clone3",         "openat2",          "close_range",
                                      "io_uring_setup", "map_shadow_stack", NULL};

/* Nobody who is well calls these. */
static const char *const killing[] = {
    /* programs and other processes */
    "execve", "execveat", "kcmp", "pidfd_getfd", "process_madvise", "process_mrelease",
    "process_vm_readv", "process_vm_writev", "ptrace",
    /* the kernel's inside */
    "bpf", "create_module", "delete_module", "finit_module", "init_module", "ioperm", "iopl",
    "kexec_file_load", "kexec_load", "lookup_dcookie", "modify_ldt", "perf_event_open",
    "userfaultfd", "vm86", "vm86old",
    /* the world that others see */
    "acct", "chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr",
    "move_mount", "name_to_handle_at", "open_by_handle_at", "open_tree", "pivot_root", "quotactl",
    "quotactl_fd", "reboot", "setdomainname", "sethostname", "setns", "swapoff", "swapon",
    "umount2", "unshare",
    /* clocks */
    "clock_adjtime", "clock_settime", "settimeofday", NULL};

static void
allow_if(struct syscall_filter *filter, const char *name, unsigned argument, uint64_t mask,
         uint64_t value)
{
  syscall_filter_add(filter, &(struct syscall_rule){.name = name,
                                                    .condition_count = 1,
                                                    .conditions = {{argument, mask, value}}});
}

/* Memory is written or run, never both, and nothing that was written becomes a program. Libraries
 * are loaded later, too: their text is mapped as it is. */
static void
add_memory(struct syscall_filter *filter)
{
  allow_if(filter, "mmap", 2, PROT_EXEC, 0);
  allow_if(filter, "mmap", 2, PROT_WRITE, 0);
  allow_if(filter, "mprotect", 2, PROT_EXEC, 0);
}

/* Threads, and nothing else that clone makes. */
static void
add_threads(struct syscall_filter *filter)
{
  uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  uint64_t namespaces = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID |
                        CLONE_NEWUSER | CLONE_NEWUTS;
  allow_if(filter, "clone", 0, thread | namespaces, thread);
}

static void
add_signals(struct syscall_filter *filter)
{
  uint64_t self = (uint64_t)getpid();
  allow_if(filter, "tgkill", 0, INT_MASK, self);
  allow_if(filter, "kill", 0, INT_MASK, self);
  allow_if(filter, "rt_tgsigqueueinfo", 0, INT_MASK, self);
  allow_if(filter, "prlimit64", 2, UINT64_MAX, 0); /* asking, not setting */
}

static void
add_prctl(struct syscall_filter *filter)
{
  static const int options[] = {PR_GET_NAME, PR_SET_NAME, PR_CAPBSET_READ, PR_GET_DUMPABLE,
                                PR_GET_NO_NEW_PRIVS};
  for (size_t i = 0; i < COUNT(options); i++)
    allow_if(filter, "prctl", 0, INT_MASK, (uint64_t)options[i]);
}

static void
add_ioctl(struct syscall_filter *filter)
{
  static const unsigned long requests[] = {FIONBIO, FIONREAD, TCGETS, TIOCGWINSZ, SIOCOUTQ};
  for (size_t i = 0; i < COUNT(requests); i++)
    allow_if(filter, "ioctl", 1, INT_MASK, requests[i]);
}

/* Among those left out are routes of packets, devices to send by, and programs that look at
 * packets. */
static void
add_socket_options(struct syscall_filter *filter)
{
  static const struct {
    int level;
    int option;
  } options[] = {
      {SOL_SOCKET, SO_KEEPALIVE},  {SOL_SOCKET, SO_LINGER},     {SOL_SOCKET, SO_PRIORITY},
      {SOL_SOCKET, SO_RCVBUF},     {SOL_SOCKET, SO_RCVTIMEO},   {SOL_SOCKET, SO_REUSEADDR},
      {SOL_SOCKET, SO_SNDBUF},     {SOL_SOCKET, SO_SNDTIMEO},   {IPPROTO_TCP, TCP_CORK},
      {IPPROTO_TCP, TCP_KEEPCNT},  {IPPROTO_TCP, TCP_KEEPIDLE}, {IPPROTO_TCP, TCP_KEEPINTVL},
      {IPPROTO_TCP, TCP_NODELAY},  {IPPROTO_TCP, TCP_QUICKACK}, {IPPROTO_TCP, TCP_USER_TIMEOUT},
      {IPPROTO_IP, IP_RECVERR},    {IPPROTO_IP, IP_TOS},        {IPPROTO_IPV6, IPV6_RECVERR},
      {IPPROTO_IPV6, IPV6_TCLASS}, {IPPROTO_IPV6, IPV6_V6ONLY},
  };
  for (size_t i = 0; i < COUNT(options); i++)
    syscall_filter_add(
        filter, &(struct syscall_rule){.name = "setsockopt",
                                       .condition_count = 2,
                                       .conditions = {{1, INT_MASK, (uint64_t)options[i].level},
                                                      {2, INT_MASK, (uint64_t)options[i].option}}});
}

void
sandbox_calls_add(struct syscall_filter *filter)
{
  syscall_filter_add_names(filter, allowed, SYSCALL_ALLOW);
  syscall_filter_add_names(filter, unknown, SYSCALL_UNKNOWN);
  syscall_filter_add_names(filter, killing, SYSCALL_KILL);
  add_memory(filter);
  add_threads(filter);
  add_signals(filter);
  add_prctl(filter);
  add_ioctl(filter);
  add_socket_options(filter);
}
