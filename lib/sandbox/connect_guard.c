/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/connect_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "lib/base/memory.h"
#include "lib/sandbox/connect_guard_process.h"

/* Half of the descriptors below the first datagram socket are for streams: a Ceph client has a
 * connection for each OSD. The lower half is for all that is no socket. */
#define FIRST_DATAGRAM_LEAST 512
#define FIRST_DATAGRAM_MOST 32768
/* How many there may be is known to the guard; this is on the safe side. */
#define DATAGRAM_ROOM 256

struct connect_guard {
  pid_t pid;
  int control;
  int first_datagram; /* a power of two: the filter can only mask */
  bool is_sealed;
};

/* 0 when the limit of open files is too low. What may be had beyond the present limit is taken. */
static int
find_first_datagram(void)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
    return 0;
  const rlim_t wanted = FIRST_DATAGRAM_MOST + DATAGRAM_ROOM;
  struct rlimit raised = {.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted,
                          .rlim_max = limit.rlim_max};
  if (limit.rlim_cur < raised.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) == 0)
    limit = raised;
  int first = FIRST_DATAGRAM_MOST;
  while (first >= FIRST_DATAGRAM_LEAST && limit.rlim_cur < (rlim_t)first + DATAGRAM_ROOM)
    first /= 2;
  return first >= FIRST_DATAGRAM_LEAST ? first : 0;
}

int
connect_guard_start(const struct net_policy *policy, uint64_t capabilities,
                    struct connect_guard **ret_guard, struct error **err)
{
  int first_datagram = find_first_datagram();
  if (first_datagram == 0)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "fewer than %d files may be open",
                     FIRST_DATAGRAM_LEAST + DATAGRAM_ROOM);
  /* Opened by the process itself it needs no right, and stays open whatever becomes of its user. */
  CLEANUP(closep) int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0)
    return error_set_errno(err, errno, "open /proc/self/mem for the connection guard");
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
    return error_set_errno(err, errno, "make a socket for the connection guard");
  pid_t worker = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    struct net_policy copy = {0};
    net_policy_add_all(&copy, policy);
    const struct guard_process_options options = {.control = sockets[1],
                                                  .memory = memory,
                                                  .worker = worker,
                                                  .first_datagram = first_datagram,
                                                  .capabilities = capabilities};
    guard_process_run(&options, &copy);
  }
  int failure = errno;
  (void)close(sockets[1]);
  if (pid < 0) {
    (void)close(sockets[0]);
    return error_set_errno(err, failure, "start the connection guard");
  }
  struct connect_guard *guard = xcalloc(1, sizeof(*guard));
  *guard =
      (struct connect_guard){.pid = pid, .control = sockets[0], .first_datagram = first_datagram};
  *ret_guard = guard;
  return 0;
}

void
connect_guard_free(struct connect_guard *guard)
{
  if (!guard)
    return;
  (void)close(guard->control); /* which ends it */
  while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
    ;
  free(guard);
}

/* Sends a message, with a descriptor unless that is -1, and waits for the answer. */
static int
ask(struct connect_guard *guard, const struct guard_message *message, int fd, struct error **err)
{
  if (guard->is_sealed)
    return error_set(err, ERROR_FAILED_PRECONDITION, "the connection guard is sealed");
  struct iovec iov = {.iov_base = (void *)message, .iov_len = sizeof(*message)};
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } rights = {0};
  struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};
  if (fd >= 0) {
    header.msg_control = rights.room;
    header.msg_controllen = sizeof(rights.room);
    struct cmsghdr *first = CMSG_FIRSTHDR(&header);
    *first = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(first), &fd, sizeof(fd));
  }
  int answer = 0;
  if (sendmsg(guard->control, &header, MSG_NOSIGNAL) < 0 ||
      read(guard->control, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
    return error_set(err, ERROR_INTERNAL, "the connection guard is gone");
  return answer == 0 ? 0 : error_set_errno(err, answer, "connection guard");
}

int
connect_guard_check(struct connect_guard *guard, struct error **err)
{
  volatile uint64_t magic = GUARD_MAGIC;
  struct guard_message message = {.request = GUARD_CHECK, .address = (uint64_t)(uintptr_t)&magic};
  return ask(guard, &message, -1, err);
}

int
connect_guard_attach(struct connect_guard *guard, int listener, struct error **err)
{
  struct guard_message message = {.request = GUARD_ATTACH};
  int r = ask(guard, &message, listener, err);
  (void)close(listener); /* whoever has it may answer */
  return r;
}

int
connect_guard_allow(struct connect_guard *guard, const struct net_policy *more, struct error **err)
{
  for (size_t i = 0; i < more->rule_count; i++) {
    struct guard_message message = {.request = GUARD_RULE, .rule = more->rules[i]};
    if (ask(guard, &message, -1, err) < 0)
      return -1;
  }
  for (size_t i = 0; i < more->path_count; i++) {
    struct guard_message message = {.request = GUARD_PATH};
    size_t len = strlen(more->paths[i]);
    if (len >= sizeof(message.path))
      return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is too long for a socket",
                       more->paths[i]);
    memcpy(message.path, more->paths[i], len);
    if (ask(guard, &message, -1, err) < 0)
      return -1;
  }
  return 0;
}

int
connect_guard_seal(struct connect_guard *guard, struct error **err)
{
  struct guard_message message = {.request = GUARD_SEAL};
  if (ask(guard, &message, -1, err) < 0)
    return -1;
  guard->is_sealed = true;
  return 0;
}

/* ---- the filter --------------------------------------------------------------------------------
 */

#define INT_MASK 0xffffffffULL
#define SOCKET_TYPE_MASK 0xfULL /* SOCK_CLOEXEC and SOCK_NONBLOCK are in the same argument */

static void
add_socket_rule(struct syscall_filter *filter, int domain, int type, int protocol,
                enum syscall_action action)
{
  syscall_filter_add(filter,
                     &(struct syscall_rule){.name = "socket",
                                            .action = action,
                                            .condition_count = 3,
                                            .conditions = {{0, INT_MASK, (uint64_t)domain},
                                                           {1, SOCKET_TYPE_MASK, (uint64_t)type},
                                                           {2, INT_MASK, (uint64_t)protocol}}});
}

static void
add_socket_rules(struct syscall_filter *filter, enum syscall_action action)
{
  static const int families[] = {AF_INET, AF_INET6};
  for (size_t i = 0; i < 2; i++) {
    add_socket_rule(filter, families[i], SOCK_STREAM, 0, action);
    add_socket_rule(filter, families[i], SOCK_STREAM, IPPROTO_TCP, action);
    add_socket_rule(filter, families[i], SOCK_DGRAM, 0, action);
    add_socket_rule(filter, families[i], SOCK_DGRAM, IPPROTO_UDP, action);
  }
  add_socket_rule(filter, AF_UNIX, SOCK_STREAM, 0, action);
  /* of no other type: a message on a datagram pair may be addressed to somebody else */
  syscall_filter_add(filter,
                     &(struct syscall_rule){.name = "socketpair",
                                            .condition_count = 2,
                                            .conditions = {{0, INT_MASK, AF_UNIX},
                                                           {1, SOCKET_TYPE_MASK, SOCK_STREAM}}});
}

/* A call whose argument `fd` is not a datagram socket, and which passes a further condition. */
static void
add_low_rule(struct syscall_filter *filter, const char *name, uint64_t high_bits,
             struct syscall_condition further)
{
  syscall_filter_add(filter, &(struct syscall_rule){.name = name,
                                                    .condition_count = 2,
                                                    .conditions = {{0, high_bits, 0}, further}});
}

/* Sending: on a stream the address does not count, on a datagram socket there must be none. */
static void
add_send_rules(struct syscall_filter *filter, uint64_t high_bits)
{
  const struct syscall_condition flags_of_sendto = {3, MSG_FASTOPEN, 0};
  add_low_rule(filter, "sendto", high_bits, flags_of_sendto);
  syscall_filter_add(filter,
                     &(struct syscall_rule){.name = "sendto",
                                            .condition_count = 2,
                                            .conditions = {{4, UINT64_MAX, 0}, flags_of_sendto}});
  add_low_rule(filter, "sendmsg", high_bits, (struct syscall_condition){2, MSG_FASTOPEN, 0});
}

/* Copying descriptors: only from below. */
static void
add_copy_rules(struct syscall_filter *filter, uint64_t high_bits)
{
  static const int plain_commands[] = {
      F_GETFD,     F_SETFD,     F_GETFL,      F_SETFL,     F_GETLK,     F_SETLK,      F_SETLKW,
      F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_GET_SEALS, F_ADD_SEALS, F_SETPIPE_SZ, F_GETPIPE_SZ};
  static const int copying_commands[] = {F_DUPFD, F_DUPFD_CLOEXEC};
  static const char *const calls[] = {"dup", "dup2", "dup3"};
  for (size_t i = 0; i < sizeof(plain_commands) / sizeof(plain_commands[0]); i++)
    syscall_filter_add(
        filter, &(struct syscall_rule){.name = "fcntl",
                                       .condition_count = 1,
                                       .conditions = {{1, INT_MASK, (uint64_t)plain_commands[i]}}});
  for (size_t i = 0; i < sizeof(copying_commands) / sizeof(copying_commands[0]); i++)
    add_low_rule(filter, "fcntl", high_bits,
                 (struct syscall_condition){1, INT_MASK, (uint64_t)copying_commands[i]});
  for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
    syscall_filter_add(filter, &(struct syscall_rule){.name = calls[i],
                                                      .condition_count = 1,
                                                      .conditions = {{0, high_bits, 0}}});
}

/* Sockets are closed by the guard, all else by the worker itself. */
static void
add_close_rules(struct syscall_filter *filter, int first_datagram)
{
  const struct {
    int first;
    int value;
    enum syscall_action action;
  } ranges[] = {{first_datagram / 2, 0, SYSCALL_ALLOW},
                {first_datagram / 2, first_datagram / 2, SYSCALL_ASK},
                {first_datagram, first_datagram, SYSCALL_ASK}};
  for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
    syscall_filter_add(filter, &(struct syscall_rule){
                                   .name = "close",
                                   .action = ranges[i].action,
                                   .condition_count = 1,
                                   .conditions = {{0, INT_MASK & ~((uint64_t)ranges[i].first - 1),
                                                   (uint64_t)ranges[i].value}}});
}

void
connect_guard_add_rules(const struct connect_guard *guard, struct syscall_filter *filter)
{
  static const char *const unguarded[] = {"close",    "connect", "sendto", "sendmsg",
                                          "sendmmsg", "dup",     "dup2",   "dup3",
                                          "fcntl",    "recvmsg", NULL};
  if (!guard) {
    add_socket_rules(filter, SYSCALL_ALLOW);
    syscall_filter_add_names(filter, unguarded, SYSCALL_ALLOW);
    return;
  }
  uint64_t high_bits = INT_MASK & ~((uint64_t)guard->first_datagram - 1);
  syscall_filter_add(filter, &(struct syscall_rule){.name = "connect", .action = SYSCALL_ASK});
  add_socket_rules(filter, SYSCALL_ASK);
  add_close_rules(filter, guard->first_datagram);
  add_send_rules(filter, high_bits);
  add_copy_rules(filter, high_bits);
  /* recvmsg and recvmmsg stay refused: they would take in a descriptor that was passed. */
}
