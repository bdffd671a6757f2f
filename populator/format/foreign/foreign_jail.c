/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/foreign/foreign_jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/sandbox/landlock.h"
#include "lib/sandbox/privileges.h"
#include "lib/sandbox/sanitizer.h"
#include "lib/sandbox/syscall_filter.h"

/* A decoder's tables for the largest disks, and its libraries. */
#define MEMORY_BYTES ((uint64_t)2 << 30)
#define FILES_MAX 128
/* Nobody's image takes longer; a loop that gives no answer is noticed sooner, by who waits. */
#define CPU_SECONDS ((uint64_t)4 * 3600)
#define WANTED_MAX 256
#define INT_MASK 0xffffffffULL

struct foreign_jail {
  struct syscall_filter *filter;
  int ruleset;  /* of Landlock; -1 where there is none */
  int listener; /* -1 until it runs */
  bool is_closed;
  char wanted[WANTED_MAX];
};

static const char *const readable_paths[] = {"/etc/ld.so.cache", "/dev/null", "/dev/urandom", NULL};

/* ---- system calls ------------------------------------------------------------------------------
 */

static const char *const allowed[] = {"accept4",
                                      "brk",
                                      "chdir",
                                      "clock_getres",
                                      "clock_gettime",
                                      "clock_nanosleep",
                                      "close",
                                      "dup",
                                      "epoll_create1",
                                      "epoll_ctl",
                                      "epoll_pwait",
                                      "epoll_wait",
                                      "eventfd2",
                                      "exit",
                                      "exit_group",
                                      "fcntl",
                                      "fstat",
                                      "fstatfs",
                                      "futex",
                                      "getdents64",
                                      "getegid",
                                      "geteuid",
                                      "getgid",
                                      "getpeername",
                                      "getpid",
                                      "getrandom",
                                      "getsockname",
                                      "getsockopt",
                                      "gettid",
                                      "gettimeofday",
                                      "getuid",
                                      "lseek",
                                      "madvise",
                                      "membarrier",
                                      "mremap",
                                      "munmap",
                                      "nanosleep",
                                      "newfstatat",
                                      "pipe2",
                                      "poll",
                                      "ppoll",
                                      "pread64",
                                      "preadv",
                                      "read",
                                      "readlink",
                                      "readv",
                                      "recvfrom",
                                      "recvmsg",
                                      "restart_syscall",
                                      "rseq",
                                      "rt_sigaction",
                                      "rt_sigprocmask",
                                      "rt_sigreturn",
                                      "rt_sigtimedwait",
                                      "sched_getaffinity",
                                      "sched_yield",
                                      "select",
                                      "sendmsg",
                                      "sendto",
                                      "set_robust_list",
                                      "set_tid_address",
                                      "setsockopt",
                                      "shutdown",
                                      "sigaltstack",
                                      "signalfd4",
                                      "stat",
                                      "statx",
                                      "sysinfo",
                                      "timerfd_create",
                                      "timerfd_settime",
                                      "uname",
                                      "write",
                                      "writev",
                                      "access",
                                      "arch_prctl",
                                      NULL};

static const char *const unknown[] = {"clone3", "io_uring_setup", "openat2", NULL};

/* Files and programs: see foreign_jail_answer(). */
static const char *const asked[] = {"open", "openat", "execve", NULL};

static void
allow_if(struct syscall_filter *filter, const char *name, unsigned argument, uint64_t mask,
         uint64_t value)
{
  syscall_filter_add(filter, &(struct syscall_rule){.name = name,
                                                    .condition_count = 1,
                                                    .conditions = {{argument, mask, value}}});
}

static int
make_filter(struct syscall_filter **ret_filter, struct error **err)
{
  CLEANUP(syscall_filter_freep) struct syscall_filter *filter = syscall_filter_new();
  uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  uint64_t namespaces = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID |
                        CLONE_NEWUSER | CLONE_NEWUTS;
  syscall_filter_add_names(filter, allowed, SYSCALL_ALLOW);
  syscall_filter_add_names(filter, unknown, SYSCALL_UNKNOWN);
  syscall_filter_add_names(filter, asked, SYSCALL_ASK);
  allow_if(filter, "clone", 0, thread | namespaces, thread);
  allow_if(filter, "mmap", 2, PROT_EXEC, 0);
  allow_if(filter, "mmap", 2, PROT_WRITE, 0);
  allow_if(filter, "mprotect", 2, PROT_EXEC, 0);
  allow_if(filter, "prctl", 0, INT_MASK, PR_SET_NAME);
  allow_if(filter, "prctl", 0, INT_MASK, PR_GET_NAME);
  allow_if(filter, "prlimit64", 2, UINT64_MAX, 0);
  allow_if(filter, "ioctl", 1, INT_MASK, FIONBIO);
  if (syscall_filter_compile(filter, err) < 0)
    return -1;
  *ret_filter = TAKE(filter);
  return 0;
}

int
foreign_jail_new(const char *program, struct foreign_jail **ret_jail, struct error **err)
{
  const char *const programs[] = {"/usr/lib", "/lib", "/lib64", "/usr/lib64", program, NULL};
  CLEANUP(foreign_jail_freep) struct foreign_jail *jail = xcalloc(1, sizeof(*jail));
  jail->listener = jail->ruleset = -1;
  if (make_filter(&jail->filter, err) < 0)
    return -1;
  struct landlock_options rules = {
      .read = readable_paths, .execute = programs, .denies_connecting = true};
  /* Without it the libraries' folder is not the only one that can be read while it starts. */
  if (landlock_abi() > 0 && landlock_ruleset(&rules, &jail->ruleset, err) < 0)
    return -1;
  *ret_jail = TAKE(jail);
  return 0;
}

void
foreign_jail_free(struct foreign_jail *jail)
{
  if (!jail)
    return;
  if (jail->ruleset >= 0)
    (void)close(jail->ruleset);
  if (jail->listener >= 0)
    (void)close(jail->listener);
  syscall_filter_free(jail->filter);
  free(jail);
}

/* ---- in the new process ------------------------------------------------------------------------
 * Only async-signal-safe functions here. */

struct entry {
  const struct foreign_jail *jail;
  int ruleset;  /* their numbers over there; the ruleset may be -1 */
  int messages; /* the listener is sent here */
};

static int
send_listener(int socket, int listener)
{
  char byte = 'l';
  struct iovec iov = {.iov_base = &byte, .iov_len = 1};
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } rights = {0};
  struct msghdr header = {.msg_iov = &iov,
                          .msg_iovlen = 1,
                          .msg_control = rights.room,
                          .msg_controllen = sizeof(rights.room)};
  struct cmsghdr *first = CMSG_FIRSTHDR(&header);
  *first = (struct cmsghdr){
      .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(first), &listener, sizeof(listener));
  return sendmsg(socket, &header, MSG_NOSIGNAL) < 0 ? errno : 0;
}

static int
enter_jail(void *context)
{
  const struct entry *entry = context;
  struct privileges_limits limits = {
      .files = FILES_MAX, .memory_bytes = MEMORY_BYTES, .cpu_seconds = CPU_SECONDS};
  privileges_empty_bounding_set();
  int r = privileges_drop_capabilities(0);
  if (r == 0)
    r = privileges_no_new();
  if (r == 0)
    r = privileges_limit(&limits);
  if (r == 0 && entry->ruleset >= 0) {
    r = landlock_restrict(entry->ruleset);
    (void)close(entry->ruleset);
  }
  if (r != 0)
    return r;
  int listener = syscall_filter_install(entry->jail->filter, true);
  if (listener < 0)
    return -listener;
  r = send_listener(entry->messages, listener);
  (void)close(listener);
  (void)close(entry->messages);
  return r;
}

/* ---- running it --------------------------------------------------------------------------------
 */

static int
receive_listener(int socket)
{
  char byte;
  struct iovec iov = {.iov_base = &byte, .iov_len = 1};
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } rights;
  struct msghdr header = {.msg_iov = &iov,
                          .msg_iovlen = 1,
                          .msg_control = rights.room,
                          .msg_controllen = sizeof(rights.room)};
  int listener = -1;
  if (recvmsg(socket, &header, MSG_CMSG_CLOEXEC) != 1)
    return -1; /* it ended before: the starter knows why */
  struct cmsghdr *first = CMSG_FIRSTHDR(&header);
  if (first && first->cmsg_type == SCM_RIGHTS)
    memcpy(&listener, CMSG_DATA(first), sizeof(listener));
  return listener;
}

/* Starting waits for execve, which is asked for: so the start has a thread of its own. */
struct start {
  const struct subprocess_options *options;
  int messages; /* our copy of the program's end; it ends with the start */
  struct subprocess *subprocess;
  struct error *err;
};

static void *
start_main(void *arg)
{
  struct start *start = arg;
  (void)subprocess_start(start->options, &start->subprocess, &start->err);
  (void)close(start->messages);
  return NULL;
}

/* Answers questions until the program runs. */
static void
answer_until(struct foreign_jail *jail, int messages)
{
  struct pollfd fds[] = {{.fd = jail->listener, .events = POLLIN}, {.fd = messages}};
  /* The other end is closed by exec, or by the end of the process, and by the thread. */
  while (jail->listener >= 0 && poll(fds, 2, -1) >= 0) {
    if ((fds[0].revents & POLLIN) != 0)
      foreign_jail_answer(jail);
    else if (fds[0].revents != 0)
      return; /* it has ended */
    if ((fds[1].revents & POLLHUP) != 0)
      return;
  }
}

static int
run_with_messages(struct foreign_jail *jail, struct subprocess_options *options, int ours,
                  int theirs, struct start *start)
{
  struct subprocess_fd fds[SUBPROCESS_FDS_MAX];
  size_t count = options->fd_count;
  int highest = 2;
  for (size_t i = 0; i < count; i++) {
    fds[i] = options->fds[i];
    highest = fds[i].to > highest ? fds[i].to : highest;
  }
  struct entry entry = {.jail = jail, .ruleset = -1, .messages = highest + 1};
  fds[count++] = (struct subprocess_fd){.from = theirs, .to = entry.messages};
  if (jail->ruleset >= 0) {
    entry.ruleset = highest + 2;
    fds[count++] = (struct subprocess_fd){.from = jail->ruleset, .to = entry.ruleset};
  }
  options->fds = fds;
  options->fd_count = count;
  options->prepare = enter_jail;
  options->context = &entry;
  pthread_t thread;
  start->options = options;
  start->messages = theirs;
  int r = pthread_create(&thread, NULL, start_main, start);
  if (r != 0) {
    (void)close(theirs);
    return r;
  }
  jail->listener = receive_listener(ours);
  answer_until(jail, ours);
  (void)pthread_join(thread, NULL);
  return 0;
}

int
foreign_jail_run(struct foreign_jail *jail, const struct subprocess_options *options,
                 struct subprocess **ret_subprocess, struct error **err)
{
  int messages[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, messages) < 0)
    return error_set_errno(err, errno, "make a socket");
  CLEANUP(closep) int ours = messages[0];
  struct subprocess_options copy = *options;
  struct start start = {0};
  int r = run_with_messages(jail, &copy, ours, messages[1], &start);
  if (r != 0)
    return error_set_errno(err, r, "start a thread");
  if (start.err) {
    if (err)
      *err = TAKE(start.err);
    error_free(start.err);
    return -1;
  }
  if (jail->listener < 0) {
    subprocess_free(start.subprocess);
    return error_set(err, ERROR_UNIMPLEMENTED, "the kernel tells nobody which files are opened");
  }
  *ret_subprocess = start.subprocess;
  return 0;
}

int
foreign_jail_listener(const struct foreign_jail *jail)
{
  return jail->listener;
}

void
foreign_jail_close_files(struct foreign_jail *jail)
{
  jail->is_closed = true;
}

const char *
foreign_jail_wanted(const struct foreign_jail *jail)
{
  return jail->wanted[0] ? jail->wanted : NULL;
}

/* What libraries look at by themselves at any time; they do without. */
static bool
is_habit(const char *path)
{
  static const char *const habits[] = {"/dev/null",     "/proc/cpuinfo", "/proc/filesystems",
                                       "/proc/meminfo", "/proc/mounts",  "/proc/self/status",
                                       "/proc/stat"};
  for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++) {
    if (strcmp(path, habits[i]) == 0)
      return true;
  }
  return text_starts_with(path, "/sys/devices/system/");
}

/* A text in the memory of whoever asks; "" when it cannot be read. By the file of its memory: what
 * process_vm_readv() needs, the profile of a pod refuses. */
static void
read_text(const struct seccomp_notif *question, uint64_t address, char text[WANTED_MAX])
{
  char name[64];
  (void)snprintf(name, sizeof(name), "/proc/%u/mem", question->pid);
  CLEANUP(closep) int memory = open(name, O_RDONLY | O_CLOEXEC);
  ssize_t len = -1;
  /* At the end of a page it is followed by nothing that could be read: less is tried then. */
  for (size_t tried = WANTED_MAX - 1; memory >= 0 && len <= 0 && tried > 0; tried /= 2)
    len = pread(memory, text, tried, (off_t)address);
  text[len > 0 ? len : 0] = '\0';
}

/* Remembers the first file that an image has named. */
static void
note_wanted(struct foreign_jail *jail, const struct seccomp_notif *question)
{
  char path[WANTED_MAX] = "";
  read_text(question, question->data.args[question->data.nr == SYS_openat ? 1 : 0], path);
  if (jail->wanted[0] || is_habit(path))
    return;
  for (size_t i = 0; path[i]; i++)
    path[i] = path[i] >= ' ' && path[i] <= '~' ? path[i] : '?'; /* it is for a message */
  memcpy(jail->wanted, path[0] ? path : "?", path[0] ? sizeof(path) : 2);
}

void
foreign_jail_answer(struct foreign_jail *jail)
{
  struct {
    struct seccomp_notif notif;
    char growth[256]; /* a newer kernel's may be longer */
  } room;
  memset(&room, 0, sizeof(room));
  if (ioctl(jail->listener, SECCOMP_IOCTL_NOTIF_RECV, &room.notif) < 0)
    return;
  struct seccomp_notif_resp response = {.id = room.notif.id};
  if (jail->is_closed) {
    note_wanted(jail, &room.notif);
    response.error = -EACCES;
  } else {
    /* It may change its mind about the path meanwhile; it has no reason to, yet. */
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  }
  (void)ioctl(jail->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}
