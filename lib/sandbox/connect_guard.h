/* SPDX-License-Identifier: Apache-2.0 */
/* Decides where a sandboxed process connects to.
 *
 * A system call filter sees a pointer to the address, not the address, and whoever looks at it
 * first and lets the call go on afterwards is too late: another thread may have changed it by then.
 * So the calls are not let go on at all. A process of its own, forked before the sandbox is closed,
 * is asked for each connect(2): it copies the address once, compares it with the policy, and
 * connects the socket itself. It can do that because sockets are made by it, too, and because the
 * worker has given it its own memory to read (guard_sockets.h, /proc/self/mem): nothing of this
 * needs a right that a container with the usual filter (RuntimeDefault) does not have.
 *
 * The other ways to name an address are closed by the filter:
 * - TCP takes one with MSG_FASTOPEN, which is refused.
 * - Datagram sockets take one with each message. Their descriptors are above all others, where the
 *   filter lets pass only what goes to the connected address; and a descriptor cannot be copied
 * down from there, nor be passed through a socket.
 * - Other families and kinds of sockets cannot be made.
 *
 * The policy can be added to until it is sealed: where a cluster's daemons are is learnt from the
 * cluster, and that comes before the first byte of an image. */
#ifndef LIB_SANDBOX_CONNECT_GUARD_H
#define LIB_SANDBOX_CONNECT_GUARD_H

#include "lib/sandbox/net_policy.h"
#include "lib/sandbox/syscall_filter.h"

struct connect_guard;

/* Forks the guard; there must be no other threads. The policy is copied. The guard keeps those
 * capabilities that the worker will have: unix sockets may lie in folders of others. The limit of
 * open files is raised as far as it may be; fails where it leaves no room for the guard's
 * descriptors. */
int connect_guard_start(const struct net_policy *policy, uint64_t capabilities,
                        struct connect_guard **ret_guard, struct error **err);
/* Ends the guard: from here on nothing can be connected. */
void connect_guard_free(struct connect_guard *guard);
DEFINE_CLEANUP(struct connect_guard *, connect_guard_free)

/* Whether the guard can look into this process. */
int connect_guard_check(struct connect_guard *guard, struct error **err);

/* What a filter must say for the guard to be asked, and to be the only way. With NULL: what it says
 * where there can be no guard and connections are free. */
void connect_guard_add_rules(const struct connect_guard *guard, struct syscall_filter *filter);
/* Hands over the listener of the installed filter, which is closed here. */
int connect_guard_attach(struct connect_guard *guard, int listener, struct error **err);

/* All that `more` allows is allowed as well. FAILED_PRECONDITION when it is sealed. */
int connect_guard_allow(struct connect_guard *guard, const struct net_policy *more,
                        struct error **err);
/* The policy stays as it is from here on. */
int connect_guard_seal(struct connect_guard *guard, struct error **err);

#endif
