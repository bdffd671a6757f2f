/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets that the guard has made for the worker. Of each it keeps a descriptor of its own, by
 * which it connects: to take one out of another process needs a right (pidfd_getfd) that containers
 * do not have.
 *
 * The worker has them under numbers that the guard chooses, above all others: streams from one
 * power of two on, datagram sockets from the next. So a filter, which sees nothing but the number,
 * can tell them apart, and asks the guard when one is closed: a connection must end when the worker
 * ends it. The number stays taken then, by a pipe that nobody writes to, until it is given out
 * again: had the worker closed it itself, that could hit a socket which another thread was just
 * given. */
#ifndef LIB_SANDBOX_GUARD_SOCKETS_H
#define LIB_SANDBOX_GUARD_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The worker's numbers of one kind of sockets. */
struct guard_numbers {
  int first;
  size_t count;
  int *copies; /* by number: our descriptor, -1 where the worker has none */
};

struct guard_sockets {
  struct guard_numbers streams;
  struct guard_numbers datagrams;
  int vacant; /* what lies under a number that is not used any more */
};

/* Streams have the numbers from first_datagram / 2 on. 0 or an errno. */
int guard_sockets_init(struct guard_sockets *sockets, int first_datagram);

/* Answers to questions that came through the listener, without the answer itself: what the system
 * call returns, or -errno. */
int guard_sockets_make(struct guard_sockets *sockets, int listener, uint64_t question, int domain,
                       int type, int protocol);
int guard_sockets_close(struct guard_sockets *sockets, int listener, uint64_t question, int number);

/* Our descriptor of the worker's socket, which stays ours; -1 when we have not made it. */
int guard_sockets_find(const struct guard_sockets *sockets, int number, bool *ret_is_datagram);

#endif
