/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/memory.h"

#define BACKLOG 64

/* What getaddrinfo() says, to be freed by freeaddrinfo(). */
static int
resolve(const char *where, struct addrinfo **ret_found, struct error **err)
{
  const char *colon = strrchr(where, ':');
  size_t len = colon ? (size_t)(colon - where) : 0;
  bool is_bracketed = len >= 2 && where[0] == '[' && where[len - 1] == ']';
  CLEANUP(freep)
  char *host = is_bracketed ? xstrndup(where + 1, len - 2) : xstrndup(where, len);
  const struct addrinfo hints = {.ai_family = *host ? AF_UNSPEC : AF_INET6,
                                 .ai_socktype = SOCK_STREAM,
                                 .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
  if (colon && colon[1] && getaddrinfo(*host ? host : "::", colon + 1, &hints, ret_found) == 0)
    return 0;
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "'%.128s': ADDRESS:PORT or :PORT is needed, the address as a number", where);
}

static int
listen_at(const struct sockaddr *address, socklen_t len)
{
  const int on = 1;
  const int off = 0;
  int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return -1;
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address->sa_family == AF_INET6)
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (bind(fd, address, len) == 0 && listen(fd, BACKLOG) == 0)
    return fd;
  int reason = errno;
  (void)close(fd);
  errno = reason;
  return -1;
}

/* A machine without IPv6 has no "::" either. */
static int
listen_at_any_v4(const struct sockaddr *address)
{
  const struct sockaddr_in any = {
      .sin_family = AF_INET,
      .sin_port = ((const struct sockaddr_in6 *)(const void *)address)->sin6_port};
  return listen_at((const struct sockaddr *)&any, sizeof(any));
}

static uint16_t
port_of(int fd)
{
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } bound = {0};
  socklen_t len = sizeof(bound);
  (void)getsockname(fd, &bound.any, &len);
  return ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
}

int
http_listen(const char *where, int *ret_fd, uint16_t *ret_port, struct error **err)
{
  struct addrinfo *found = NULL;
  if (resolve(where, &found, err) < 0)
    return -1;
  int fd = listen_at(found->ai_addr, found->ai_addrlen);
  if (fd < 0 && where[0] == ':' && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL))
    fd = listen_at_any_v4(found->ai_addr);
  freeaddrinfo(found);
  if (fd < 0)
    return error_set_errno(err, errno, "listen on '%s'", where);
  *ret_fd = fd;
  *ret_port = port_of(fd);
  return 0;
}
