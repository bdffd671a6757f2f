/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams: each can name an address, so the filter keeps to descriptor numbers; these try to get
 * around it. args are the address and port that is not allowed, and the one that is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sandbox/attempt.h"

static int
make_socket(void)
{
  return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int
connect_to(int fd, char *const *args)
{
  struct sockaddr_storage address;
  socklen_t len = attempt_address(args[0], args[1], &address);
  return connect(fd, (struct sockaddr *)&address, len) < 0 ? errno : 0;
}

static int
send_by_message(int fd, char *const *args)
{
  struct sockaddr_storage address;
  socklen_t len = attempt_address(args[0], args[1], &address);
  struct iovec iov = {.iov_base = (char[]){"x"}, .iov_len = 1};
  struct msghdr header = {
      .msg_name = &address, .msg_namelen = len, .msg_iov = &iov, .msg_iovlen = 1};
  return sendmsg(fd, &header, 0) < 0 ? errno : 0;
}

static int
udp(char *const *args)
{
  CLEANUP(closep) int fd = make_socket();
  if (fd < 0)
    return errno;
  int r = connect_to(fd, args);
  return r != 0 ? r : send(fd, "x", 1, 0) == 1 ? 0 : errno;
}

static int
udp_sendto(char *const *args)
{
  struct sockaddr_storage address;
  socklen_t len = attempt_address(args[0], args[1], &address);
  CLEANUP(closep) int fd = make_socket();
  return sendto(fd, "x", 1, 0, (struct sockaddr *)&address, len) < 0 ? errno : 0;
}

static int
udp_sendmsg(char *const *args)
{
  CLEANUP(closep) int fd = make_socket();
  return send_by_message(fd, args);
}

static int
udp_sendmmsg(char *const *args)
{
  struct sockaddr_storage address;
  socklen_t len = attempt_address(args[0], args[1], &address);
  CLEANUP(closep) int fd = make_socket();
  struct iovec iov = {.iov_base = (char[]){"x"}, .iov_len = 1};
  struct mmsghdr message = {.msg_hdr = {
                                .msg_name = &address,
                                .msg_namelen = len,
                                .msg_iov = &iov,
                                .msg_iovlen = 1,
                            }};
  return sendmmsg(fd, &message, 1, 0) < 0 ? errno : 0;
}

/* Connected to the allowed one, addressed to the other. */
static int
udp_connected_sendmsg(char *const *args)
{
  CLEANUP(closep) int fd = make_socket();
  int r = connect_to(fd, args + 2);
  return r != 0 ? r : send_by_message(fd, args);
}

/* The filter sees 64 bits of a descriptor where the kernel sees 32. */
static int
udp_high_bits(char *const *args)
{
  struct sockaddr_storage address;
  socklen_t len = attempt_address(args[0], args[1], &address);
  CLEANUP(closep) int fd = make_socket();
  long long_fd = (long)((1ULL << 32) | (unsigned)fd);
  return syscall(SYS_sendto, long_fd, "x", 1L, 0L, &address, (long)len) < 0 ? errno : 0;
}

static int
udp_dup(char *const *args)
{
  CLEANUP(closep) int fd = make_socket();
  CLEANUP(closep) int low = dup(fd);
  return low < 0 ? errno : send_by_message(low, args);
}

static int
udp_dup2(char *const *args)
{
  CLEANUP(closep) int fd = make_socket();
  CLEANUP(closep) int low = dup2(fd, 50);
  return low < 0 ? errno : send_by_message(low, args);
}

static int
udp_fcntl_dup(char *const *args)
{
  CLEANUP(closep) int fd = make_socket();
  CLEANUP(closep) int low = fcntl(fd, F_DUPFD_CLOEXEC, 50);
  return low < 0 ? errno : send_by_message(low, args);
}

/* Sends the descriptor to itself, to get it back with a low number. */
static int
udp_passed(char *const *args)
{
  int pair[2];
  int fd = make_socket();
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
    return errno;
  char byte = 'x';
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
  memcpy(CMSG_DATA(first), &fd, sizeof(fd));
  if (sendmsg(pair[0], &header, 0) < 0 || recvmsg(pair[1], &header, 0) < 0)
    return errno;
  first = CMSG_FIRSTHDR(&header);
  if (!first)
    return EPROTO;
  int low;
  memcpy(&low, CMSG_DATA(first), sizeof(low));
  return send_by_message(low, args);
}

/* A datagram pair of unix sockets, one message of which is addressed to somebody else. */
static int
unix_pair(char *const *args)
{
  (void)args;
  int pair[2];
  return socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0 ? errno : 0;
}

/* All that the guard gives out at once, and that they come back. */
static int
udp_many(char *const *args)
{
  (void)args;
  int fds[512];
  for (int round = 0; round < 2; round++) {
    int count = 0;
    while (count < 512 && (fds[count] = make_socket()) >= 0)
      count++;
    (void)printf("%d sockets\n", count);
    for (int i = 0; i < count; i++)
      (void)close(fds[i]);
  }
  return 0;
}

const struct attempt datagram_attempts[] = {
    {"udp", 2, udp},
    {"udp-sendto", 2, udp_sendto},
    {"udp-sendmsg", 2, udp_sendmsg},
    {"udp-sendmmsg", 2, udp_sendmmsg},
    {"udp-connected-sendmsg", 4, udp_connected_sendmsg},
    {"udp-high-bits", 2, udp_high_bits},
    {"udp-dup", 2, udp_dup},
    {"udp-dup2", 2, udp_dup2},
    {"udp-fcntl-dup", 2, udp_fcntl_dup},
    {"udp-passed", 2, udp_passed},
    {"udp-many", 0, udp_many},
    {"unix-pair", 0, unix_pair},
    {0},
};
