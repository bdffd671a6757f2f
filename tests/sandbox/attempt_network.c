/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: by every way that names an address. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/sandbox/attempt.h"

static int
finish(int fd)
{
  struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
  int failure = 0;
  socklen_t len = sizeof(failure);
  (void)poll(&poll_fd, 1, 10000);
  (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &len);
  return failure;
}

/* Connects and sends a byte. */
static int
connect_tcp(char *const *args, int flags)
{
  struct sockaddr_storage address;
  socklen_t len = attempt_address(args[0], args[1], &address);
  CLEANUP(closep) int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (fd < 0)
    return errno;
  int r = connect(fd, (struct sockaddr *)&address, len) < 0 ? errno : 0;
  if (r == EINPROGRESS)
    r = finish(fd);
  if (r == 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) != (flags & SOCK_NONBLOCK))
    return EPROTO; /* the guard has left it otherwise than it was */
  return r != 0 ? r : send(fd, "x", 1, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

static int
tcp(char *const *args)
{
  return connect_tcp(args, 0);
}

static int
tcp_nonblocking(char *const *args)
{
  return connect_tcp(args, SOCK_NONBLOCK);
}

/* An IPv4 address in an IPv6 socket. */
static int
tcp_mapped(char *const *args)
{
  char mapped[64];
  (void)snprintf(mapped, sizeof(mapped), "::ffff:%s", args[0]);
  return connect_tcp((char *[]){mapped, args[1]}, 0);
}

/* Connects and sends in one call. */
static int
fast_open_sendto(char *const *args)
{
  struct sockaddr_storage address;
  socklen_t len = attempt_address(args[0], args[1], &address);
  CLEANUP(closep) int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&address, len) < 0 ? errno : 0;
}

static int
fast_open_sendmsg(char *const *args)
{
  struct sockaddr_storage address;
  socklen_t len = attempt_address(args[0], args[1], &address);
  CLEANUP(closep) int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct iovec iov = {.iov_base = (char[]){"x"}, .iov_len = 1};
  struct msghdr header = {
      .msg_name = &address, .msg_namelen = len, .msg_iov = &iov, .msg_iovlen = 1};
  return sendmsg(fd, &header, MSG_FASTOPEN) < 0 ? errno : 0;
}

/* One thread turns the address to and fro between two ports of a host while another connects: the
 * first is allowed, the second is not. Whoever looks twice lets it through sooner or later. */
struct race {
  struct sockaddr_in address;
  uint16_t ports[2];
  atomic_bool is_over;
};

static void *
race_main(void *arg)
{
  struct race *race = arg;
  volatile uint16_t *port = &race->address.sin_port;
  for (unsigned i = 0; !atomic_load(&race->is_over); i++)
    *port = race->ports[i % 2];
  return NULL;
}

static int
tcp_race(char *const *args)
{
  struct sockaddr_storage address;
  struct race race = {0};
  for (unsigned i = 0; i < 2; i++) {
    (void)attempt_address(args[0], args[1 + i], &address);
    race.address = *(struct sockaddr_in *)&address;
    race.ports[i] = race.address.sin_port;
  }
  pthread_t thread;
  if (pthread_create(&thread, NULL, race_main, &race) != 0)
    return EAGAIN;
  unsigned connected[2] = {0};
  for (unsigned i = 0; i < 3000; i++) {
    CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in peer = {0};
    socklen_t len = sizeof(peer);
    if (connect(fd, (struct sockaddr *)&race.address, sizeof(race.address)) == 0 &&
        getpeername(fd, (struct sockaddr *)&peer, &len) == 0)
      connected[peer.sin_port == race.ports[1]]++;
  }
  atomic_store(&race.is_over, true);
  (void)pthread_join(thread, NULL);
  (void)printf("connected %u and %u times\n", connected[0], connected[1]);
  return connected[1] > 0 ? 0 : connected[0] > 0 ? EACCES : EPROTO;
}

static int
connect_unix(const char *path, size_t path_len, int type)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, path, path_len);
  CLEANUP(closep) int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return errno;
  socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_len);
  return connect(fd, (struct sockaddr *)&address, len) < 0 ? errno : 0;
}

static int
unix_stream(char *const *args)
{
  return connect_unix(args[0], strlen(args[0]) + 1, SOCK_STREAM);
}

static int
unix_datagram(char *const *args)
{
  return connect_unix(args[0], strlen(args[0]) + 1, SOCK_DGRAM);
}

static int
unix_abstract(char *const *args)
{
  char name[64] = "";
  size_t len = strnlen(args[0], sizeof(name) - 2);
  memcpy(name + 1, args[0], len);
  return connect_unix(name, len + 1, SOCK_STREAM);
}

/* Waits for others to connect. */
static int
listen_tcp(char *const *args)
{
  (void)args;
  struct sockaddr_in address = {.sin_family = AF_INET};
  CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
    return errno;
  return listen(fd, 1) < 0 ? errno : 0;
}

/* listen() binds by itself. */
static int
listen_unbound(char *const *args)
{
  (void)args;
  CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return listen(fd, 1) < 0 ? errno : 0;
}

static int
other_socket(char *const *args)
{
  CLEANUP(closep)
  int fd = socket((int)strtol(args[0], NULL, 10), (int)strtol(args[1], NULL, 10),
                  (int)strtol(args[2], NULL, 10));
  return fd < 0 ? errno : 0;
}

static int
resolve(char *const *args)
{
  struct addrinfo *found = NULL;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  int r = getaddrinfo(args[0], "80", &hints, &found);
  if (r != 0) {
    (void)printf("%s\n", gai_strerror(r));
    return ENOENT;
  }
  freeaddrinfo(found);
  return 0;
}

/* Connects when a line has come. */
static int
connect_later(char *const *args)
{
  char byte;
  (void)printf("ready\n");
  (void)fflush(stdout);
  (void)!read(0, &byte, 1);
  return connect_tcp(args, 0);
}

/* Adds to the policy what was not in it. */
static int
allow_more(char *const *args)
{
  struct net_policy more = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  (void)net_policy_add_text(&more, args[0], NULL);
  int r = sandbox_allow(attempt_sandbox, &more, &err);
  net_policy_clear(&more);
  return r < 0 ? EPERM : connect_tcp(args + 1, 0);
}

const struct attempt network_attempts[] = {
    {"tcp", 2, tcp},
    {"tcp-nonblocking", 2, tcp_nonblocking},
    {"tcp-mapped", 2, tcp_mapped},
    {"tcp-race", 3, tcp_race},
    {"fast-open-sendto", 2, fast_open_sendto},
    {"fast-open-sendmsg", 2, fast_open_sendmsg},
    {"unix", 1, unix_stream},
    {"unix-datagram", 1, unix_datagram},
    {"unix-abstract", 1, unix_abstract},
    {"listen", 0, listen_tcp},
    {"listen-unbound", 0, listen_unbound},
    {"socket", 3, other_socket},
    {"resolve", 1, resolve},
    {"connect-later", 2, connect_later},
    {"allow-more", 3, allow_more},
    {0},
};
