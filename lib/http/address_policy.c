/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/address_policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct network {
  uint32_t address;
  unsigned bits;
  const char *what;
};

#define IPV4(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static const struct network refused[] = {
    {IPV4(0, 0, 0, 0), 8, "an unspecified address"},
    {IPV4(127, 0, 0, 0), 8, "a loopback address"},
    {IPV4(169, 254, 0, 0), 16, "a link-local address, where metadata services are"},
    {IPV4(224, 0, 0, 0), 4, "a multicast address"},
    {IPV4(255, 255, 255, 255), 32, "the broadcast address"},
    /* metadata services that are not link-local: Alibaba, Azure, Oracle */
    {IPV4(100, 100, 100, 200), 32, "the address of a metadata service"},
    {IPV4(168, 63, 129, 16), 32, "the address of a metadata service"},
    {IPV4(192, 0, 0, 192), 32, "the address of a metadata service"},
};

static const char *
refusal_of_ipv4(uint32_t address)
{
  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
    if ((address ^ refused[i].address) >> (32 - refused[i].bits) == 0)
      return refused[i].what;
  }
  return NULL;
}

static uint32_t
ipv4_at(const struct in6_addr *address, size_t offset)
{
  uint32_t value;
  memcpy(&value, address->s6_addr + offset, sizeof(value));
  return ntohl(value);
}

static bool
has_prefix(const struct in6_addr *address, const char *prefix, size_t bytes)
{
  return memcmp(address->s6_addr, prefix, bytes) == 0;
}

/* Networks whose packets end up at the IPv4 address that they carry. */
static const char *
refusal_of_carried_ipv4(const struct in6_addr *address)
{
  if (IN6_IS_ADDR_V4MAPPED(address) || IN6_IS_ADDR_V4COMPAT(address) ||
      has_prefix(address, "\x00\x64\xff\x9b\0\0\0\0\0\0\0\0", 12)) /* NAT64 */
    return refusal_of_ipv4(ipv4_at(address, 12));
  if (has_prefix(address, "\x20\x02", 2)) /* 6to4 */
    return refusal_of_ipv4(ipv4_at(address, 2));
  return NULL;
}

static const char *
refusal_of_ipv6(const struct in6_addr *address)
{
  static const char ec2_metadata[] = "\xfd\x00\x0e\xc2\0\0\0\0\0\0\0\0\0\0\x02\x54";
  if (IN6_IS_ADDR_UNSPECIFIED(address))
    return "an unspecified address";
  if (IN6_IS_ADDR_LOOPBACK(address))
    return "a loopback address";
  if (IN6_IS_ADDR_LINKLOCAL(address) || IN6_IS_ADDR_SITELOCAL(address))
    return "a link-local address";
  if (IN6_IS_ADDR_MULTICAST(address))
    return "a multicast address";
  if (has_prefix(address, ec2_metadata, sizeof(*address)))
    return "the address of a metadata service";
  return refusal_of_carried_ipv4(address);
}

const char *
address_policy_refusal(const struct sockaddr *address)
{
  switch (address->sa_family) {
  case AF_INET:
    return refusal_of_ipv4(
        ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
  case AF_INET6:
    return refusal_of_ipv6(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
  default:
    return "not an internet address";
  }
}

/* "localhost", "a.localhost", and with the dot of the root. */
static bool
means_localhost(const char *host)
{
  static const char name[] = "localhost";
  size_t len = strlen(host);
  size_t name_len = sizeof(name) - 1;
  if (len > 0 && host[len - 1] == '.')
    len--;
  if (len < name_len || strncasecmp(host + len - name_len, name, name_len) != 0)
    return false;
  return len == name_len || host[len - name_len - 1] == '.';
}

const char *
address_policy_refusal_of_host(const char *host)
{
  struct in_addr ipv4;
  struct in6_addr ipv6;
  if (inet_pton(AF_INET, host, &ipv4) == 1)
    return refusal_of_ipv4(ntohl(ipv4.s_addr));
  if (inet_pton(AF_INET6, host, &ipv6) == 1)
    return refusal_of_ipv6(&ipv6);
  return means_localhost(host) ? "a name of the loopback address" : NULL;
}
