/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/guard_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/memory.h"

#define DATAGRAMS_MAX 128
#define TYPE_MASK 0xf /* SOCK_CLOEXEC and SOCK_NONBLOCK are in the same argument */

static void
init_numbers(struct guard_numbers *numbers, int first, size_t count)
{
  *numbers = (struct guard_numbers){
      .first = first, .count = count, .copies = xcalloc(count, sizeof(numbers->copies[0]))};
  for (size_t i = 0; i < count; i++)
    numbers->copies[i] = -1;
}

int
guard_sockets_init(struct guard_sockets *sockets, int first_datagram)
{
  int ends[2];
  int first_stream = first_datagram / 2;
  if (pipe2(ends, O_CLOEXEC) < 0)
    return errno;
  (void)close(ends[1]);
  sockets->vacant = ends[0];
  init_numbers(&sockets->streams, first_stream, (size_t)(first_datagram - first_stream));
  init_numbers(&sockets->datagrams, first_datagram, DATAGRAMS_MAX);
  return 0;
}

/* Puts a file of ours under that number of whoever asks; what was there is closed. 0 or -errno. */
static int
place(int listener, uint64_t question, int fd, int number, bool is_cloexec)
{
  struct seccomp_notif_addfd add = {.id = question,
                                    .flags = SECCOMP_ADDFD_FLAG_SETFD,
                                    .srcfd = (uint32_t)fd,
                                    .newfd = (uint32_t)number,
                                    .newfd_flags = is_cloexec ? O_CLOEXEC : 0};
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 ? -errno : 0;
}

int
guard_sockets_make(struct guard_sockets *sockets, int listener, uint64_t question, int domain,
                   int type, int protocol)
{
  struct guard_numbers *numbers =
      (type & TYPE_MASK) == SOCK_DGRAM ? &sockets->datagrams : &sockets->streams;
  size_t index = 0;
  while (index < numbers->count && numbers->copies[index] >= 0)
    index++;
  if (index == numbers->count)
    return -EMFILE;
  int number = numbers->first + (int)index;
  int fd = socket(domain, type | SOCK_CLOEXEC, protocol);
  if (fd < 0)
    return -errno;
  int r = place(listener, question, fd, number, (type & SOCK_CLOEXEC) != 0);
  if (r < 0) {
    (void)close(fd);
    return r;
  }
  numbers->copies[index] = fd;
  return number;
}

/* Where our descriptor of that number is kept; NULL: it is none of those that we give out. */
static int *
copy_of(const struct guard_numbers *numbers, int number)
{
  if (number < numbers->first || (size_t)(number - numbers->first) >= numbers->count)
    return NULL;
  return &numbers->copies[number - numbers->first];
}

int
guard_sockets_close(struct guard_sockets *sockets, int listener, uint64_t question, int number)
{
  int *copy = copy_of(&sockets->streams, number);
  if (!copy)
    copy = copy_of(&sockets->datagrams, number);
  if (!copy || *copy < 0)
    return -EBADF;
  int r = place(listener, question, sockets->vacant, number, true);
  if (r < 0)
    return r;
  (void)close(*copy);
  *copy = -1;
  return 0;
}

int
guard_sockets_find(const struct guard_sockets *sockets, int number, bool *ret_is_datagram)
{
  const int *stream = copy_of(&sockets->streams, number);
  const int *datagram = copy_of(&sockets->datagrams, number);
  *ret_is_datagram = datagram != NULL;
  return stream ? *stream : datagram ? *datagram : -1;
}
