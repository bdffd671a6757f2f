/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses may be connected to: networks with ranges of ports, the public internet as a
 * whole, and sockets in the file system. What no rule allows is refused; a policy without rules
 * refuses everything. IPv4 addresses are kept as IPv6 ones (::ffff:a.b.c.d), which is also how they
 * look when they come that way, so there is one comparison and no way around it.
 * One thread at a time. */
#ifndef LIB_SANDBOX_NET_POLICY_H
#define LIB_SANDBOX_NET_POLICY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/base/error.h"

/* Plain bytes, so that it can be sent to another process. */
struct net_rule {
  struct in6_addr network;
  uint8_t bits;        /* of 128 */
  bool is_public;      /* every address of the public internet; network and bits do not matter */
  bool is_private;     /* every address of private networks, likewise */
  bool is_passing;     /* only until net_policy_drop_passing() */
  bool is_datagram;    /* UDP; else TCP */
  uint16_t first_port; /* … to last_port, which belongs to it */
  uint16_t last_port;
};

struct net_policy {
  struct net_rule *rules;
  size_t rule_count;
  char **paths; /* of unix sockets, as they are connected to */
  size_t path_count;
};

void net_policy_clear(struct net_policy *policy);
/* All that `more` allows is allowed by `policy` too. */
void net_policy_add_all(struct net_policy *policy, const struct net_policy *more);

void net_policy_add(struct net_policy *policy, const struct net_rule *rule);
/* TCP to a host, given by an address whose own port does not matter. */
void net_policy_add_host(struct net_policy *policy, const struct sockaddr *address,
                         uint16_t first_port, uint16_t last_port);
/* TCP to all of the internet that is nobody's private network. A server in it may answer from, or
 * lead to, any other, so its own addresses say little; what matters is to keep away from what is
 * inside. */
void net_policy_add_public(struct net_policy *policy, uint16_t port);
/* TCP to all private networks: what a site numbers by itself (RFC 1918, RFC 4193). Loopback, links
 * and metadata services are none of them. */
void net_policy_add_private(struct net_policy *policy, uint16_t port);
/* TCP to every address there is. */
void net_policy_add_any(struct net_policy *policy, uint16_t port);
/* TCP to everywhere, for a while. */
void net_policy_add_passing(struct net_policy *policy);
void net_policy_drop_passing(struct net_policy *policy);
/* TCP to what a person wrote: "10.0.0.0/24", "10.0.0.7:443", "10.0.0.0/8:6800-7568",
 * "[fd00::/64]:3300", "fd00::1". */
int net_policy_add_text(struct net_policy *policy, const char *text, struct error **err);
/* Several of these, with commas between them. */
int net_policy_add_list(struct net_policy *policy, const char *text, struct error **err);
/* UDP and TCP to the servers of a resolv.conf; where it names none, to the one on this machine. */
void net_policy_add_nameservers(struct net_policy *policy, const char *resolv_conf);
void net_policy_add_path(struct net_policy *policy, const char *path);

bool net_policy_allows(const struct net_policy *policy, const struct sockaddr *address,
                       socklen_t len, bool is_datagram);

/* Whether the address is one that the whole internet agrees on. */
bool net_policy_is_public(const struct in6_addr *address);
/* Whether it is one of a site's own. */
bool net_policy_is_private(const struct in6_addr *address);
/* The same of an address as sockets take it. */
bool net_policy_is_private_host(const struct sockaddr *address);

/* Room for the result of net_policy_text(). */
#define NET_POLICY_TEXT_MAX 128
/* "10.0.0.7:443", "[fd00::1]:443", "/run/x.sock": for messages. Returns buf. */
const char *net_policy_text(const struct sockaddr *address, socklen_t len,
                            char buf[NET_POLICY_TEXT_MAX]);

#endif
