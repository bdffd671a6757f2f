/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/connect_guard_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/sandbox/guard_sockets.h"
#include "lib/sandbox/privileges.h"
#include "lib/sandbox/sanitizer.h"
#include "lib/sandbox/syscall_filter.h"

#define PENDING_MAX 128 /* connections that are being made */
#define REFUSALS_LOGGED 16

/* A connection that the worker waits for. */
struct pending {
  uint64_t question;
  int fd;
  int flags; /* of the socket, to be put back */
};

struct guard {
  int control;  /* of no more use once it is sealed, but its end is the worker's */
  int listener; /* -1 until it is attached */
  int memory;   /* the worker's */
  struct guard_sockets sockets;
  struct net_policy policy;
  struct pending pending[PENDING_MAX];
  size_t pending_count;
  unsigned refusals;                      /* that were logged */
  char last_refused[NET_POLICY_TEXT_MAX]; /* who is refused tries again, often */
};

/* ---- questions ---------------------------------------------------------------------------------
 */

/* The result of the system call that was asked for: -errno, or what it returns. The worker may be
 * gone meanwhile. */
static void
answer(struct guard *guard, uint64_t question, int64_t result)
{
  struct seccomp_notif_resp response = {.id = question};
  if (result < 0)
    response.error = (int32_t)result;
  else
    response.val = result;
  (void)ioctl(guard->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Bytes in the memory of the worker: a pointer over there is a place in the file. */
static bool
read_memory(const struct guard *guard, uint64_t address, void *buf, size_t len)
{
  return pread(guard->memory, buf, len, (off_t)address) == (ssize_t)len;
}

/* The only look at the address: what is checked is what is connected to. */
static int
copy_address(struct guard *guard, const struct seccomp_notif *question,
             struct sockaddr_storage *ret_address, socklen_t *ret_len)
{
  *ret_address = (struct sockaddr_storage){0};
  uint64_t len = (uint32_t)question->data.args[2];
  if (len < sizeof(ret_address->ss_family) || len > sizeof(*ret_address))
    return -EINVAL;
  if (!read_memory(guard, question->data.args[1], ret_address, len))
    return -EFAULT;
  *ret_len = (socklen_t)len;
  return 0;
}

static void
log_refusal(struct guard *guard, const struct sockaddr *address, socklen_t len)
{
  char text[NET_POLICY_TEXT_MAX];
  (void)net_policy_text(address, len, text);
  if (strcmp(text, guard->last_refused) == 0 || guard->refusals == REFUSALS_LOGGED)
    return;
  memcpy(guard->last_refused, text, sizeof(text));
  guard->refusals++;
  log_warn("the sandbox has refused a connection to %s", text);
}

static bool
may_connect(struct guard *guard, bool is_datagram, const struct sockaddr *address, socklen_t len)
{
  if (address->sa_family == AF_UNSPEC) /* takes a connection back */
    return true;
  if (net_policy_allows(&guard->policy, address, len, is_datagram))
    return true;
  /* The C library tries unix sockets of name services, and datagram sockets to learn its own
   * address: without them it does as well. */
  if (!is_datagram && address->sa_family != AF_UNIX)
    log_refusal(guard, address, len);
  return false;
}

/* Puts a connection on the list that a thread of the worker waits for. 0 or -errno. */
static int
wait_for(struct guard *guard, uint64_t question, int fd, int flags)
{
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* the worker may close it meanwhile */
  if (own < 0)
    return -errno;
  guard->pending[guard->pending_count++] =
      (struct pending){.question = question, .fd = own, .flags = flags};
  return 0;
}

/* Connects without waiting itself. */
static void
start_connecting(struct guard *guard, uint64_t question, int fd, const struct sockaddr *address,
                 socklen_t len)
{
  int flags = fcntl(fd, F_GETFL);
  bool waits = flags >= 0 && (flags & O_NONBLOCK) == 0;
  if (waits && guard->pending_count == PENDING_MAX) {
    answer(guard, question, -EAGAIN);
    return;
  }
  if (waits)
    (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  int r = connect(fd, address, len) < 0 ? -errno : 0;
  if (waits && r == -EINPROGRESS) {
    r = wait_for(guard, question, fd, flags);
    if (r == 0)
      return;
  }
  if (waits)
    (void)fcntl(fd, F_SETFL, flags);
  answer(guard, question, r);
}

static void
finish_connecting(struct guard *guard, size_t index)
{
  struct pending pending = guard->pending[index];
  guard->pending[index] = guard->pending[--guard->pending_count];
  int failure = 0;
  socklen_t len = sizeof(failure);
  if (getsockopt(pending.fd, SOL_SOCKET, SO_ERROR, &failure, &len) < 0)
    failure = errno;
  (void)fcntl(pending.fd, F_SETFL, pending.flags);
  answer(guard, pending.question, -failure);
  (void)close(pending.fd);
}

static void
on_connect(struct guard *guard, const struct seccomp_notif *question)
{
  struct sockaddr_storage address;
  socklen_t len;
  int r = copy_address(guard, question, &address, &len);
  if (r < 0) {
    answer(guard, question->id, r);
    return;
  }
  bool is_datagram;
  int fd = guard_sockets_find(&guard->sockets, (int)question->data.args[0], &is_datagram);
  const struct sockaddr *plain = (const struct sockaddr *)&address;
  if (fd < 0 || !may_connect(guard, is_datagram, plain, len)) {
    answer(guard, question->id, -EACCES);
    return;
  }
  start_connecting(guard, question->id, fd, plain, len);
}

static void
on_question(struct guard *guard)
{
  struct {
    struct seccomp_notif notif;
    char growth[256]; /* a newer kernel's may be longer */
  } room;
  memset(&room, 0, sizeof(room));
  if (ioctl(guard->listener, SECCOMP_IOCTL_NOTIF_RECV, &room.notif) < 0)
    return; /* whoever asked is gone */
  const __u64 *args = room.notif.data.args;
  switch (room.notif.data.nr) {
  case SYS_connect:
    on_connect(guard, &room.notif);
    break;
  case SYS_socket:
    answer(guard, room.notif.id,
           guard_sockets_make(&guard->sockets, guard->listener, room.notif.id, (int)args[0],
                              (int)args[1], (int)args[2]));
    break;
  case SYS_close:
    answer(guard, room.notif.id,
           guard_sockets_close(&guard->sockets, guard->listener, room.notif.id, (int)args[0]));
    break;
  default:
    answer(guard, room.notif.id, -EPERM);
    break;
  }
}

/* ---- what the worker says before the policy is sealed ------------------------------------------
 */

static int
on_check(struct guard *guard, const struct guard_message *message)
{
  uint64_t value = 0;
  return read_memory(guard, message->address, &value, sizeof(value)) && value == GUARD_MAGIC
             ? 0
             : EFAULT;
}

static int
on_message(struct guard *guard, struct guard_message *message, int fd)
{
  switch (message->request) {
  case GUARD_CHECK:
    return on_check(guard, message);
  case GUARD_ATTACH:
    guard->listener = fd;
    return fd < 0 ? EBADF : 0;
  case GUARD_RULE:
    net_policy_add(&guard->policy, &message->rule);
    return 0;
  case GUARD_PATH:
    message->path[GUARD_PATH_MAX - 1] = '\0';
    net_policy_add_path(&guard->policy, message->path);
    return 0;
  case GUARD_SEAL:
    net_policy_drop_passing(&guard->policy);
    return 0;
  default:
    return EINVAL;
  }
}

/* The descriptor that came with a message, or -1. */
static int
passed_fd(struct msghdr *header)
{
  int fd = -1;
  struct cmsghdr *first = CMSG_FIRSTHDR(header);
  if (first && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS &&
      first->cmsg_len == CMSG_LEN(sizeof(int)))
    memcpy(&fd, CMSG_DATA(first), sizeof(fd));
  return fd;
}

/* False when the worker is gone, or has broken off. */
static bool
on_control(struct guard *guard, bool *is_sealed)
{
  struct guard_message message;
  struct iovec iov = {.iov_base = &message, .iov_len = sizeof(message)};
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } rights;
  struct msghdr header = {.msg_iov = &iov,
                          .msg_iovlen = 1,
                          .msg_control = rights.room,
                          .msg_controllen = sizeof(rights.room)};
  if (recvmsg(guard->control, &header, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(message))
    return false;
  int fd = passed_fd(&header);
  int result = *is_sealed ? EPERM : on_message(guard, &message, fd);
  if (fd >= 0 && fd != guard->listener)
    (void)close(fd);
  *is_sealed = *is_sealed || message.request == GUARD_SEAL;
  return write(guard->control, &result, sizeof(result)) == (ssize_t)sizeof(result);
}

/* ---- the process -------------------------------------------------------------------------------
 */

static void
serve(struct guard *guard)
{
  bool is_sealed = false;
  for (;;) {
    struct pollfd fds[2 + PENDING_MAX] = {{.fd = guard->control, .events = POLLIN},
                                          {.fd = guard->listener, .events = POLLIN}};
    size_t waiting = guard->pending_count;
    for (size_t i = 0; i < waiting; i++)
      fds[2 + i] = (struct pollfd){.fd = guard->pending[i].fd, .events = POLLOUT};
    if (poll(fds, 2 + waiting, -1) < 0)
      continue;
    for (size_t i = waiting; i > 0; i--) { /* from the end: the last one fills a gap */
      if (fds[2 + i - 1].revents != 0)
        finish_connecting(guard, i - 1);
    }
    if ((fds[1].revents & POLLIN) != 0)
      on_question(guard);
    else if (fds[1].revents != 0)
      return; /* nobody is left who could ask */
    if (fds[0].revents != 0 && !on_control(guard, &is_sealed))
      return;
  }
}

/* All that serve() calls, and what malloc and the log do. */
static void
restrict_myself(uint64_t capabilities)
{
  static const char *const allowed[] = {
      "brk",          "clock_gettime", "clock_nanosleep", "close",           "connect",
      "exit",         "exit_group",    "fcntl",           "futex",           "getpid",
      "getsockopt",   "gettid",        "ioctl",           "madvise",         "mmap",
      "mprotect",     "mremap",        "munmap",          "newfstatat",      "poll",
      "ppoll",        "pread64",       "recvmsg",         "restart_syscall", "rt_sigprocmask",
      "rt_sigreturn", "socket",        "write",           "writev",          NULL};
  privileges_empty_bounding_set();
  (void)privileges_drop_capabilities(capabilities);
  (void)privileges_no_new();
  if (SANDBOX_HAS_SANITIZER)
    return;
  CLEANUP(syscall_filter_freep) struct syscall_filter *filter = syscall_filter_new();
  syscall_filter_add_names(filter, allowed, SYSCALL_ALLOW);
  if (syscall_filter_compile(filter, NULL) == 0)
    (void)syscall_filter_install(filter, false);
}

void
guard_process_run(const struct guard_process_options *options, struct net_policy *policy)
{
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)prctl(PR_SET_NAME, "imprint-guard");
  /* The worker may still have to save its state when a terminal or a service manager has told all
   * processes of it to end. */
  static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
  for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
    (void)signal(ignored[i], SIG_IGN);
  struct guard *guard = xcalloc(1, sizeof(*guard));
  guard->listener = -1;
  guard->policy = *policy;
  /* Of what it has inherited it keeps stderr; the worker's pipes must end with the worker. */
  guard->control = dup3(options->control, 0, O_CLOEXEC);
  guard->memory = dup3(options->memory, 1, O_CLOEXEC);
  (void)close_range(3, ~0U, 0);
  if (getppid() == options->worker && guard->control == 0 && guard->memory == 1 &&
      guard_sockets_init(&guard->sockets, options->first_datagram) == 0) {
    restrict_myself(options->capabilities);
    serve(guard);
  }
  _exit(0);
}
