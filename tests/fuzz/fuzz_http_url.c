/* SPDX-License-Identifier: Apache-2.0 */
/* The input is a URL and, on a second line, where it redirects to. What is taken apart shows none
 * of its secrets, means the same when it is read again, and leads nowhere but to HTTP servers. */
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/address_policy.h"
#include "lib/http/http_proxy.h"
#include "lib/http/http_url.h"
#include "tests/fuzz/fuzz.h"

static void
check_url(const struct http_url *url)
{
  const char *scheme = url->is_tls ? "https://" : "http://";
  CHECK(text_starts_with(url->text, scheme) && text_starts_with(url->label, scheme));
  CHECK(!strpbrk(url->label, "?#\r\n") && !strpbrk(url->text, "#\r\n"));
  const char *server = url->label + strlen(scheme);
  CHECK(!memchr(server, '@', strcspn(server, "/")));
  struct http_url again = {0};
  CHECK(http_url_parse(url->text, &again, NULL) == 0);
  CHECK(!again.user && !again.password);
  CHECK(strcmp(again.host, url->host) == 0 && strcmp(again.port, url->port) == 0);
  CHECK(http_url_same_server(url, &again));
  http_url_clear(&again);
  (void)address_policy_refusal_of_host(url->host);
  (void)http_proxy_is_excepted(url->host, url->label);
}

static void
try_coding(const char *text)
{
  CLEANUP(freep) char *encoded = http_url_encode(text, false);
  CLEANUP(freep) char *decoded = http_url_decode(encoded);
  CHECK(decoded && strcmp(decoded, text) == 0);
  CLEANUP(freep) char *other = http_url_decode(text);
  CHECK(!other || strlen(other) <= strlen(text));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  CLEANUP(freep) char *text = xstrndup((const char *)data, size);
  char *location = strchr(text, '\n');
  if (location)
    *location++ = '\0';
  try_coding(text);
  struct http_url url = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  if (http_url_parse(text, &url, &err) < 0) {
    CHECK(err && err->code == ERROR_INVALID_ARGUMENT && strlen(err->message) < 128);
    return 0;
  }
  check_url(&url);
  struct http_url next = {0};
  if (location && http_url_resolve(&url, location, &next, NULL) == 0) {
    CHECK(!next.user && !next.password);
    check_url(&next);
    http_url_clear(&next);
  }
  http_url_clear(&url);
  return 0;
}
