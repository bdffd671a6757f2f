/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/net_policy.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define DNS_PORT 53
#define IPV4_BITS_BEFORE 96 /* of an IPv4 address kept as an IPv6 one */

/* ---- addresses ---------------------------------------------------------------------------------
 */

static struct in6_addr
map_ipv4(struct in_addr ipv4)
{
  struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
  memcpy(&mapped.s6_addr[12], &ipv4, sizeof(ipv4));
  return mapped;
}

/* The address and port of an internet address of any length; false when it is none. */
static bool
take_apart(const struct sockaddr *address, socklen_t len, struct in6_addr *ret_address,
           uint16_t *ret_port)
{
  if (len >= sizeof(struct sockaddr_in) && address->sa_family == AF_INET) {
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
    *ret_address = map_ipv4(in->sin_addr);
    *ret_port = ntohs(in->sin_port);
    return true;
  }
  /* the kernel takes one without its last member */
  if (len >= offsetof(struct sockaddr_in6, sin6_scope_id) && address->sa_family == AF_INET6) {
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)address;
    *ret_address = in6->sin6_addr;
    *ret_port = ntohs(in6->sin6_port);
    return true;
  }
  return false;
}

static bool
is_in_network(const struct in6_addr *address, const struct in6_addr *network, unsigned bits)
{
  if (memcmp(address->s6_addr, network->s6_addr, bits / 8) != 0)
    return false;
  unsigned rest = bits % 8;
  return rest == 0 || (address->s6_addr[bits / 8] ^ network->s6_addr[bits / 8]) >> (8 - rest) == 0;
}

struct network {
  const char *address;
  unsigned bits;
};

/* What IANA's special-purpose registries keep out of the internet, and what clouds do. */
static const struct network special_ipv4[] = {
    {"0.0.0.0", 8},        /* this machine */
    {"10.0.0.0", 8},       /* private */
    {"100.64.0.0", 10},    /* behind a provider's NAT; Alibaba's metadata service */
    {"127.0.0.0", 8},      /* loopback */
    {"168.63.129.16", 32}, /* Azure's metadata service */
    {"169.254.0.0", 16},   /* link-local; metadata services */
    {"172.16.0.0", 12},    /* private */
    {"192.0.0.0", 24},     /* protocols; Oracle's metadata service */
    {"192.0.2.0", 24},     /* documentation */
    {"192.88.99.0", 24},   /* 6to4 relays */
    {"192.168.0.0", 16},   /* private */
    {"198.18.0.0", 15},    /* benchmarks */
    {"198.51.100.0", 24},  /* documentation */
    {"203.0.113.0", 24},   /* documentation */
    {"224.0.0.0", 4},      /* multicast */
    {"240.0.0.0", 4},      /* reserved, broadcast */
};

/* Of 2000::/3, which alone is given out. */
static const struct network special_ipv6[] = {
    {"2001::", 23},     /* protocols, Teredo */
    {"2001:db8::", 32}, /* documentation */
    {"2002::", 16},     /* 6to4: leads to any IPv4 address */
    {"3fff::", 20},     /* documentation */
};

static bool
is_public_ipv4(const struct in6_addr *mapped)
{
  for (size_t i = 0; i < sizeof(special_ipv4) / sizeof(special_ipv4[0]); i++) {
    struct in_addr ipv4;
    (void)inet_pton(AF_INET, special_ipv4[i].address, &ipv4);
    struct in6_addr network = map_ipv4(ipv4);
    if (is_in_network(mapped, &network, IPV4_BITS_BEFORE + special_ipv4[i].bits))
      return false;
  }
  return true;
}

bool
net_policy_is_public(const struct in6_addr *address)
{
  if (IN6_IS_ADDR_V4MAPPED(address))
    return is_public_ipv4(address);
  static const struct in6_addr nat64 = {.s6_addr = {0, 0x64, 0xff, 0x9b}};
  if (is_in_network(address, &nat64, 96)) {
    struct in_addr carried;
    memcpy(&carried, &address->s6_addr[12], sizeof(carried));
    struct in6_addr mapped = map_ipv4(carried);
    return is_public_ipv4(&mapped);
  }
  if (address->s6_addr[0] >> 5 != 1) /* 2000::/3 */
    return false;
  for (size_t i = 0; i < sizeof(special_ipv6) / sizeof(special_ipv6[0]); i++) {
    struct in6_addr network;
    (void)inet_pton(AF_INET6, special_ipv6[i].address, &network);
    if (is_in_network(address, &network, special_ipv6[i].bits))
      return false;
  }
  return true;
}

bool
net_policy_is_private(const struct in6_addr *address)
{
  static const struct network networks[] = {
      {"::ffff:10.0.0.0", IPV4_BITS_BEFORE + 8},
      {"::ffff:172.16.0.0", IPV4_BITS_BEFORE + 12},
      {"::ffff:192.168.0.0", IPV4_BITS_BEFORE + 16},
      {"fc00::", 7},
  };
  struct in6_addr ec2_metadata;
  (void)inet_pton(AF_INET6, "fd00:ec2::254", &ec2_metadata);
  if (is_in_network(address, &ec2_metadata, 128))
    return false;
  for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
    struct in6_addr network;
    (void)inet_pton(AF_INET6, networks[i].address, &network);
    if (is_in_network(address, &network, networks[i].bits))
      return true;
  }
  return false;
}

bool
net_policy_is_private_host(const struct sockaddr *address)
{
  struct in6_addr host;
  uint16_t port;
  return take_apart(address, sizeof(struct sockaddr_storage), &host, &port) &&
         net_policy_is_private(&host);
}

/* ---- rules -------------------------------------------------------------------------------------
 */

void
net_policy_clear(struct net_policy *policy)
{
  for (size_t i = 0; i < policy->path_count; i++)
    free(policy->paths[i]);
  free(policy->paths);
  free(policy->rules);
  *policy = (struct net_policy){0};
}

void
net_policy_add(struct net_policy *policy, const struct net_rule *rule)
{
  policy->rules = xrealloc(policy->rules, policy->rule_count + 1, sizeof(policy->rules[0]));
  policy->rules[policy->rule_count++] = *rule;
}

void
net_policy_add_path(struct net_policy *policy, const char *path)
{
  policy->paths = xrealloc(policy->paths, policy->path_count + 1, sizeof(policy->paths[0]));
  policy->paths[policy->path_count++] = xstrdup(path);
}

void
net_policy_add_all(struct net_policy *policy, const struct net_policy *more)
{
  for (size_t i = 0; i < more->rule_count; i++)
    net_policy_add(policy, &more->rules[i]);
  for (size_t i = 0; i < more->path_count; i++)
    net_policy_add_path(policy, more->paths[i]);
}

void
net_policy_add_host(struct net_policy *policy, const struct sockaddr *address, uint16_t first_port,
                    uint16_t last_port)
{
  struct net_rule rule = {.bits = 128, .first_port = first_port, .last_port = last_port};
  uint16_t port;
  if (take_apart(address, sizeof(struct sockaddr_storage), &rule.network, &port))
    net_policy_add(policy, &rule);
}

void
net_policy_add_public(struct net_policy *policy, uint16_t port)
{
  net_policy_add(policy,
                 &(struct net_rule){.is_public = true, .first_port = port, .last_port = port});
}

void
net_policy_add_private(struct net_policy *policy, uint16_t port)
{
  net_policy_add(policy,
                 &(struct net_rule){.is_private = true, .first_port = port, .last_port = port});
}

void
net_policy_add_any(struct net_policy *policy, uint16_t port)
{
  net_policy_add(policy, &(struct net_rule){.first_port = port, .last_port = port});
}

void
net_policy_add_passing(struct net_policy *policy)
{
  net_policy_add(policy, &(struct net_rule){.is_passing = true, .last_port = UINT16_MAX});
}

void
net_policy_drop_passing(struct net_policy *policy)
{
  size_t kept = 0;
  for (size_t i = 0; i < policy->rule_count; i++) {
    if (!policy->rules[i].is_passing)
      policy->rules[kept++] = policy->rules[i];
  }
  policy->rule_count = kept;
}

/* "443" or "6800-7568". */
static int
parse_ports(const char *text, struct net_rule *rule)
{
  const char *dash = strchr(text, '-');
  CLEANUP(freep) char *first_text = dash ? xstrndup(text, (size_t)(dash - text)) : xstrdup(text);
  uint64_t first, last;
  if (text_to_u64(first_text, 10, &first) < 0 ||
      text_to_u64(dash ? dash + 1 : first_text, 10, &last) < 0 || first > last || last > UINT16_MAX)
    return -1;
  rule->first_port = (uint16_t)first;
  rule->last_port = (uint16_t)last;
  return 0;
}

/* "10.0.0.0/24", "fd00::/8", or an address alone. */
static int
parse_network(const char *text, struct net_rule *rule)
{
  const char *slash = strchr(text, '/');
  CLEANUP(freep) char *host = slash ? xstrndup(text, (size_t)(slash - text)) : xstrdup(text);
  struct in_addr ipv4;
  unsigned most = 128, before = 0;
  if (inet_pton(AF_INET, host, &ipv4) == 1) {
    rule->network = map_ipv4(ipv4);
    most = 32, before = IPV4_BITS_BEFORE;
  } else if (inet_pton(AF_INET6, host, &rule->network) != 1) {
    return -1;
  }
  uint64_t bits = most;
  if (slash && (text_to_u64(slash + 1, 10, &bits) < 0 || bits > most))
    return -1;
  rule->bits = (uint8_t)(before + bits);
  return 0;
}

/* Splits "[fd00::/64]:3300" and "10.0.0.0/8:443" at the last colon; an IPv6 network without
 * brackets has no ports. Both are to be freed; *ret_ports may be NULL. */
static void
split_ports(const char *text, char **ret_network, char **ret_ports)
{
  const char *close = text[0] == '[' ? strchr(text, ']') : NULL;
  const char *colon = close ? strchr(close, ':') : strchr(text, ':');
  bool has_ports = close ? colon == close + 1 : colon && !strchr(colon + 1, ':');
  const char *begin = close ? text + 1 : text;
  const char *end = close ? close : has_ports ? colon : text + strlen(text);
  bool has_rest = close && !has_ports && close[1];
  *ret_network = has_rest ? xstrdup("") : xstrndup(begin, (size_t)(end - begin));
  *ret_ports = has_ports ? xstrdup(colon + 1) : NULL;
}

int
net_policy_add_text(struct net_policy *policy, const char *text, struct error **err)
{
  struct net_rule rule = {.last_port = UINT16_MAX};
  CLEANUP(freep) char *network = NULL;
  CLEANUP(freep) char *ports = NULL;
  split_ports(text, &network, &ports);
  if (parse_network(network, &rule) < 0 || (ports && parse_ports(ports, &rule) < 0))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%s' is not a network such as 10.0.0.0/24 or [fd00::/64]:6800-7568", text);
  net_policy_add(policy, &rule);
  return 0;
}

int
net_policy_add_list(struct net_policy *policy, const char *text, struct error **err)
{
  for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    CLEANUP(freep) char *one = xstrndup(at, strcspn(at, ","));
    if (net_policy_add_text(policy, one, err) < 0)
      return -1;
  }
  return 0;
}

static bool
add_nameserver(struct net_policy *policy, const char *address)
{
  struct net_rule rule = {.first_port = DNS_PORT, .last_port = DNS_PORT};
  CLEANUP(freep) char *host = xstrndup(address, strcspn(address, "%")); /* fe80::1%eth0 */
  if (strchr(host, '/') || parse_network(host, &rule) < 0)
    return false;
  net_policy_add(policy, &rule);
  rule.is_datagram = true;
  net_policy_add(policy, &rule);
  return true;
}

void
net_policy_add_nameservers(struct net_policy *policy, const char *resolv_conf)
{
  static const char key[] = "nameserver";
  FILE *file = fopen(resolv_conf, "re");
  char line[512];
  bool has_any = false;
  while (file && fgets(line, sizeof(line), file)) {
    char *at = line + sizeof(key) - 1;
    if (strncmp(line, key, sizeof(key) - 1) != 0 || (*at != ' ' && *at != '\t'))
      continue;
    at += strspn(at, " \t");
    at[strcspn(at, " \t\r\n")] = '\0';
    has_any = add_nameserver(policy, at) || has_any;
  }
  if (file)
    (void)fclose(file);
  if (!has_any)
    (void)add_nameserver(policy, "127.0.0.1");
}

/* ---- the question ------------------------------------------------------------------------------
 */

/* The path of a unix socket's address, to be freed; NULL for one that is not in the file system. */
static char *
path_of(const struct sockaddr *address, socklen_t len)
{
  const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)address;
  size_t before = offsetof(struct sockaddr_un, sun_path);
  if (len <= before || len > sizeof(*un) || un->sun_path[0] == '\0')
    return NULL;
  return xstrndup(un->sun_path, len - before);
}

static bool
allows_path(const struct net_policy *policy, const struct sockaddr *address, socklen_t len)
{
  CLEANUP(freep) char *path = path_of(address, len);
  for (size_t i = 0; path && i < policy->path_count; i++) {
    if (strcmp(policy->paths[i], path) == 0)
      return true;
  }
  return false;
}

static bool
covers(const struct net_rule *rule, const struct in6_addr *host)
{
  if (rule->is_public)
    return net_policy_is_public(host);
  if (rule->is_private)
    return net_policy_is_private(host);
  return is_in_network(host, &rule->network, rule->bits);
}

bool
net_policy_allows(const struct net_policy *policy, const struct sockaddr *address, socklen_t len,
                  bool is_datagram)
{
  if (len < sizeof(address->sa_family))
    return false;
  if (address->sa_family == AF_UNIX)
    return !is_datagram && allows_path(policy, address, len);
  struct in6_addr host;
  uint16_t port;
  if (!take_apart(address, len, &host, &port))
    return false;
  for (size_t i = 0; i < policy->rule_count; i++) {
    const struct net_rule *rule = &policy->rules[i];
    if (covers(rule, &host) && rule->is_datagram == is_datagram && port >= rule->first_port &&
        port <= rule->last_port)
      return true;
  }
  return false;
}

const char *
net_policy_text(const struct sockaddr *address, socklen_t len, char buf[NET_POLICY_TEXT_MAX])
{
  struct in6_addr host;
  uint16_t port;
  char text[INET6_ADDRSTRLEN];
  (void)snprintf(buf, NET_POLICY_TEXT_MAX, "an address of another kind");
  if (len < sizeof(address->sa_family))
    return buf;
  if (address->sa_family == AF_UNIX) {
    CLEANUP(freep) char *path = path_of(address, len);
    (void)snprintf(buf, NET_POLICY_TEXT_MAX, "%s", path ? path : "an abstract unix socket");
  } else if (take_apart(address, len, &host, &port)) {
    bool is_ipv4 = IN6_IS_ADDR_V4MAPPED(&host);
    (void)inet_ntop(is_ipv4 ? AF_INET : AF_INET6, is_ipv4 ? &host.s6_addr[12] : &host.s6_addr[0],
                    text, sizeof(text));
    (void)snprintf(buf, NET_POLICY_TEXT_MAX, is_ipv4 ? "%s:%u" : "[%s]:%u", text, (unsigned)port);
  }
  return buf;
}
