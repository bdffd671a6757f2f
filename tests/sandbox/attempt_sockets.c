/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets as a program uses them that knows of no guard: many, by several threads, closed at any
 * time. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/sandbox/attempt.h"

#define MANY 2000
#define THREADS 8
#define ROUNDS 100
#define STAY_MS 3000

static int
connect_to(char *const *args)
{
  struct sockaddr_storage address;
  socklen_t len = attempt_address(args[0], args[1], &address);
  int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&address, len) == 0)
    return fd;
  int failure = errno;
  if (fd >= 0)
    (void)close(fd);
  errno = failure;
  return -1;
}

/* Stays for a while behind the end of a connection: the other side can tell them apart. */
static int
closed(char *const *args)
{
  int fd = connect_to(args);
  if (fd < 0 || close(fd) < 0)
    return errno;
  (void)poll(NULL, 0, STAY_MS);
  return 0;
}

/* All that can be had at once, and that they come back. */
static int
tcp_many(char *const *args)
{
  (void)args;
  static int fds[MANY];
  for (int round = 0; round < 2; round++) {
    int count = 0;
    while (count < MANY && (fds[count] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0)
      count++;
    (void)printf("%d sockets\n", count);
    for (int i = 0; i < count; i++) {
      if (close(fds[i]) < 0)
        return errno;
    }
  }
  return 0;
}

struct connecting {
  char *const *args;
  pthread_t thread;
  int failure;
};

static void *
connect_and_close(void *arg)
{
  struct connecting *own = arg;
  for (int i = 0; i < ROUNDS && own->failure == 0; i++) {
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);
    int fd = connect_to(own->args);
    if (fd < 0 || getpeername(fd, (struct sockaddr *)&peer, &len) < 0 || close(fd) < 0)
      own->failure = errno; /* another thread has closed it, say */
  }
  return NULL;
}

static int
tcp_threads(char *const *args)
{
  struct connecting threads[THREADS];
  int r = 0;
  for (int i = 0; i < THREADS; i++) {
    threads[i] = (struct connecting){.args = args};
    if (pthread_create(&threads[i].thread, NULL, connect_and_close, &threads[i]) != 0)
      return EAGAIN;
  }
  for (int i = 0; i < THREADS; i++) {
    (void)pthread_join(threads[i].thread, NULL);
    if (threads[i].failure != 0)
      r = threads[i].failure;
  }
  return r;
}

const struct attempt socket_attempts[] = {
    {"closed", 2, closed},
    {"tcp-many", 0, tcp_many},
    {"tcp-threads", 2, tcp_threads},
    {0},
};
