/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_proxy.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define SEPARATORS ", \t"

/* The first of two variables that says something. */
static const char *
either(const char *name, const char *other)
{
  const char *value = getenv(name);
  if (!value || !*value)
    value = other ? getenv(other) : NULL;
  return value && *value ? value : NULL;
}

/* HTTP_PROXY is not read: a web server sets it for its CGI programs from a client's header. */
static const char *
from_environment(const struct http_url *url)
{
  const char *proxy =
      url->is_tls ? either("https_proxy", "HTTPS_PROXY") : either("http_proxy", NULL);
  return proxy ? proxy : either("all_proxy", "ALL_PROXY");
}

/* Of 4 or 16 bytes; 0 when the text is not an address. */
static size_t
address_bytes(const char *text, unsigned char ret_bytes[16])
{
  if (inet_pton(AF_INET, text, ret_bytes) == 1)
    return 4;
  return inet_pton(AF_INET6, text, ret_bytes) == 1 ? 16 : 0;
}

static bool
same_bits(const unsigned char *a, const unsigned char *b, uint64_t bits)
{
  size_t whole = (size_t)bits / 8;
  if (memcmp(a, b, whole) != 0)
    return false;
  unsigned rest = (unsigned)bits % 8;
  return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

/* `entry` is an address or "address/bits"; it is changed. */
static bool
network_holds(char *entry, const unsigned char *address, size_t bytes)
{
  uint64_t bits = bytes * 8;
  char *slash = strchr(entry, '/');
  if (slash) {
    *slash = '\0';
    if (text_to_u64(slash + 1, 10, &bits) < 0 || bits > bytes * 8)
      return false;
  }
  unsigned char network[16];
  return address_bytes(entry, network) == bytes && same_bits(address, network, bits);
}

/* "example.com" and ".example.com" hold example.com and what is below it. */
static bool
domain_holds(const char *entry, const char *host)
{
  if (*entry == '.')
    entry++;
  size_t entry_len = strlen(entry);
  size_t host_len = strlen(host);
  if (entry_len == 0 || host_len < entry_len || strcasecmp(host + host_len - entry_len, entry) != 0)
    return false;
  return host_len == entry_len || host[host_len - entry_len - 1] == '.';
}

static bool
entry_holds(char *entry, const char *host)
{
  unsigned char address[16];
  size_t bytes = address_bytes(host, address);
  return bytes ? network_holds(entry, address, bytes) : domain_holds(entry, host);
}

bool
http_proxy_is_excepted(const char *host, const char *no_proxy)
{
  if (strcmp(no_proxy, "*") == 0)
    return true;
  for (const char *at = no_proxy; *at;) {
    at += strspn(at, SEPARATORS);
    size_t len = strcspn(at, SEPARATORS);
    CLEANUP(freep) char *entry = xstrndup(at, len);
    if (len > 0 && entry_holds(entry, host))
      return true;
    at += len;
  }
  return false;
}

const char *
http_proxy_for(const struct http_url *url, const char *configured)
{
  const char *proxy = configured ? configured : from_environment(url);
  const char *excepted = either("no_proxy", "NO_PROXY");
  if (!proxy || !*proxy || (excepted && http_proxy_is_excepted(url->host, excepted)))
    return NULL;
  return proxy;
}

DEFINE_CLEANUP(CURLU *, curl_url_cleanup)

static bool
is_known_scheme(const char *scheme)
{
  static const char *const known[] = {"http", "https", "socks4", "socks4a", "socks5", "socks5h"};
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
    if (strcmp(known[i], scheme) == 0)
      return true;
  }
  return false;
}

int
http_proxy_check(const char *proxy, struct error **err)
{
  CLEANUP(curl_url_cleanupp) CURLU *parsed = curl_url();
  char *scheme = NULL;
  CURLUcode code =
      curl_url_set(parsed, CURLUPART_URL, proxy, CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME);
  if (code == CURLUE_OK)
    code = curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0);
  if (code != CURLUE_OK)
    return error_set(err, ERROR_INVALID_ARGUMENT, "the proxy's URL cannot be read: %s",
                     curl_url_strerror(code));
  bool is_known = is_known_scheme(scheme);
  curl_free(scheme);
  return is_known ? 0
                  : error_set(err, ERROR_INVALID_ARGUMENT,
                              "the proxy's URL must begin with http://, https:// or socks5://");
}
