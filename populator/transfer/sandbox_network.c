/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/sandbox_network.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define HTTP_PORT 80
#define HTTPS_PORT 443

/* ---- the cluster -------------------------------------------------------------------------------
 */

static uint16_t
port_of(const struct sockaddr_storage *address)
{
  return ntohs(address->ss_family == AF_INET6
                   ? ((const struct sockaddr_in6 *)(const void *)address)->sin6_port
                   : ((const struct sockaddr_in *)(const void *)address)->sin_port);
}

static void
set_port(struct sockaddr_storage *address, uint16_t port)
{
  if (address->ss_family == AF_INET6)
    ((struct sockaddr_in6 *)(void *)address)->sin6_port = htons(port);
  else
    ((struct sockaddr_in *)(void *)address)->sin_port = htons(port);
}

/* Unless earlier rules have it: a host has many daemons. */
static void
add_ports(struct net_policy *policy, const struct sockaddr_storage *host, uint16_t first,
          uint16_t last)
{
  struct sockaddr_storage at_first = *host, at_last = *host;
  set_port(&at_first, first);
  set_port(&at_last, last);
  if (!net_policy_allows(policy, (struct sockaddr *)&at_first, sizeof(at_first), false) ||
      !net_policy_allows(policy, (struct sockaddr *)&at_last, sizeof(at_last), false))
    net_policy_add_host(policy, (const struct sockaddr *)host, first, last);
}

void
sandbox_network_add_daemons(struct net_policy *policy, const struct daemons *daemons)
{
  static const uint16_t monitor_ports[] = {DAEMONS_MONITOR_PORT_V1, DAEMONS_MONITOR_PORT_V2};
  for (size_t i = 0; i < daemons->count; i++) {
    const struct sockaddr_storage *host = &daemons->addresses[i];
    uint16_t port = port_of(host);
    add_ports(policy, host, daemons->first_port, daemons->last_port);
    for (size_t j = 0; port == 0 && j < 2; j++)
      add_ports(policy, host, monitor_ports[j], monitor_ports[j]);
    if (port != 0)
      add_ports(policy, host, port, port);
  }
}

void
sandbox_network_add_monitors(struct net_policy *policy, const struct daemons *daemons)
{
  sandbox_network_add_daemons(policy, daemons);
  net_policy_add_passing(policy);
}

/* ---- the source --------------------------------------------------------------------------------
 */

static const struct scheme {
  const char *prefix;
  uint16_t port;
  bool is_web;
} schemes[] = {
    {"http://", HTTP_PORT, true}, {"https://", HTTPS_PORT, true}, {"docker://", HTTPS_PORT, true},
    {"nbd://", 10809, false},     {"nbds://", 10809, false},
};

/* "user@host:port/path" → host and port, both to be freed; the port may be NULL. */
static void
split_authority(const char *text, char **ret_host, char **ret_port)
{
  CLEANUP(freep) char *authority = xstrndup(text, strcspn(text, "/?#"));
  const char *at = strrchr(authority, '@');
  const char *host = at ? at + 1 : authority;
  const char *close = host[0] == '[' ? strchr(host, ']') : NULL;
  const char *colon = strchr(close ? close : host, ':');
  const char *begin = close ? host + 1 : host;
  const char *end = close ? close : colon ? colon : host + strlen(host);
  *ret_host = xstrndup(begin, (size_t)(end - begin));
  *ret_port = colon && colon[1] ? xstrdup(colon + 1) : NULL;
}

/* "bucket.localhost" is this machine (RFC 6761), which libcurl knows, but not every resolver. */
static const char *
resolvable(const char *host)
{
  static const char suffix[] = ".localhost";
  size_t len = strlen(host);
  bool is_local = len > strlen(suffix) && strcasecmp(host + len - strlen(suffix), suffix) == 0;
  return is_local ? suffix + 1 : host;
}

/* Where a web server leads its clients to. */
static void
add_web(struct net_policy *policy, const struct addrinfo *found, uint16_t port, bool allow_local)
{
  const uint16_t ports[] = {HTTP_PORT, HTTPS_PORT, port};
  const size_t count = sizeof(ports) / sizeof(ports[0]);
  bool is_private = false;
  for (const struct addrinfo *at = found; at; at = at->ai_next) {
    is_private = is_private || net_policy_is_private_host(at->ai_addr);
    net_policy_add_host(policy, at->ai_addr, HTTP_PORT, HTTP_PORT);
    net_policy_add_host(policy, at->ai_addr, HTTPS_PORT, HTTPS_PORT);
    if (allow_local)
      net_policy_add_host(policy, at->ai_addr, 1, UINT16_MAX);
  }
  for (size_t i = 0; i < count; i++) {
    net_policy_add_public(policy, ports[i]);
    if (is_private && i < count - 1) /* a port that somebody chose may be that of anything inside */
      net_policy_add_private(policy, ports[i]);
    if (allow_local)
      net_policy_add_any(policy, ports[i]);
  }
}

static int
resolve(const char *host, struct addrinfo **ret_found, struct error **err)
{
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  int r = getaddrinfo(resolvable(host), NULL, &hints, ret_found);
  if (r != 0)
    return error_set(err, ERROR_UNAVAILABLE, "resolve '%s': %s", host, gai_strerror(r));
  return 0;
}

/* nbd+unix:///name?socket=PATH, with %XX where a path needs it. */
static void
add_unix(struct net_policy *policy, const char *url)
{
  static const char key[] = "socket=";
  const char *query = strchr(url, '?');
  const char *at = query ? strstr(query, key) : NULL;
  if (!at)
    return;
  at += sizeof(key) - 1;
  CLEANUP(freep) char *path = xstrndup(at, strcspn(at, "&#"));
  char *to = path;
  for (const char *from = path; *from; from++) {
    uint64_t byte;
    char digits[3] = {from[0] == '%' ? from[1] : '\0', from[0] == '%' && from[1] ? from[2] : '\0'};
    if (digits[0] && digits[1] && text_to_u64(digits, 16, &byte) == 0) {
      *to++ = (char)byte;
      from += 2;
    } else {
      *to++ = *from;
    }
  }
  *to = '\0';
  net_policy_add_path(policy, path);
}

static int
add_server(struct net_policy *policy, const struct scheme *scheme, const char *authority,
           bool allow_local, struct error **err)
{
  CLEANUP(freep) char *host = NULL;
  CLEANUP(freep) char *port_text = NULL;
  split_authority(authority, &host, &port_text);
  uint64_t port = scheme->port;
  if (!*host || (port_text && (text_to_u64(port_text, 10, &port) < 0 || port > UINT16_MAX)))
    return error_set(err, ERROR_INVALID_ARGUMENT, "the URL names no host and port");
  struct addrinfo *found = NULL;
  if (resolve(host, &found, err) < 0)
    return -1;
  for (const struct addrinfo *at = found; at; at = at->ai_next)
    net_policy_add_host(policy, at->ai_addr, (uint16_t)port, (uint16_t)port);
  if (scheme->is_web)
    add_web(policy, found, (uint16_t)port, allow_local);
  freeaddrinfo(found);
  return 0;
}

int
sandbox_network_add_url(struct net_policy *policy, const char *url, bool allow_local,
                        struct error **err)
{
  if (text_starts_with(url, "nbd+unix:") || text_starts_with(url, "nbds+unix:"))
    add_unix(policy, url);
  for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
    if (text_starts_with(url, schemes[i].prefix))
      return add_server(policy, &schemes[i], url + strlen(schemes[i].prefix), allow_local, err);
  }
  return 0;
}
