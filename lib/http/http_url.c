/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_url.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/memory.h"

/* Blanks and letters beyond ASCII are common in what people type and in what redirects say. */
#define LENIENT (CURLU_URLENCODE | CURLU_ALLOW_SPACE)
/* A path is not tidied up: "a/../b" is the name of an object. */
#define AS_TYPED (LENIENT | CURLU_PATH_AS_IS)

DEFINE_CLEANUP(CURLU *, curl_url_cleanup)

static bool
is_alnum(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A copy of a part, as the rest of the program frees it; NULL where there is none. */
static char *
part_of(CURLU *parsed, CURLUPart what, unsigned flags)
{
  char *part = NULL;
  if (curl_url_get(parsed, what, &part, flags) != CURLUE_OK)
    return NULL;
  char *copy = xstrdup(part);
  curl_free(part);
  return copy;
}

static void
forget(CURLU *parsed, CURLUPart what)
{
  (void)curl_url_set(parsed, what, NULL, 0);
}

static char *
host_of(CURLU *parsed)
{
  char *host = part_of(parsed, CURLUPART_HOST, 0);
  size_t len = host ? strlen(host) : 0;
  if (len > 2 && host[0] == '[') { /* of an IPv6 address */
    memmove(host, host + 1, len - 2);
    host[len - 2] = '\0';
  }
  return host;
}

/* An escaped host is decoded by curl, which is content with almost anything in it; another reader
 * of the URL may see another host then. Beyond ASCII are names in the languages of the world. */
static bool
is_host(const char *host)
{
  for (; *host; host++) {
    if ((unsigned char)*host < 0x80 && !is_alnum(*host) && !strchr(".-_:", *host))
      return false;
  }
  return true;
}

/* An escaped "8" is decoded to a host, and that is read as the address 0.0.0.8 the next time: what
 * is allowed and what is connected to would differ. */
static bool
is_read_alike(const struct http_url *url)
{
  CLEANUP(curl_url_cleanupp) CURLU *again = curl_url();
  if (curl_url_set(again, CURLUPART_URL, url->text, AS_TYPED) != CURLUE_OK)
    return false;
  CLEANUP(freep) char *host = host_of(again);
  return host && strcmp(host, url->host) == 0;
}

static int
fill(CURLU *parsed, bool keeps_user, struct http_url *ret_url, struct error **err)
{
  CLEANUP(freep) char *scheme = part_of(parsed, CURLUPART_SCHEME, 0);
  if (!scheme || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
    return error_set(err, ERROR_INVALID_ARGUMENT, "the URL is not one of http or https");
  struct http_url url = {.is_tls = strcmp(scheme, "https") == 0};
  if (keeps_user) {
    url.user = part_of(parsed, CURLUPART_USER, CURLU_URLDECODE);
    url.password = part_of(parsed, CURLUPART_PASSWORD, CURLU_URLDECODE);
  }
  forget(parsed, CURLUPART_USER);
  forget(parsed, CURLUPART_PASSWORD);
  forget(parsed, CURLUPART_FRAGMENT);
  url.host = host_of(parsed);
  url.port = part_of(parsed, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  url.text = part_of(parsed, CURLUPART_URL, 0);
  forget(parsed, CURLUPART_QUERY);
  url.label = part_of(parsed, CURLUPART_URL, 0);
  if (!url.host || !url.port || !url.text || !url.label || !is_host(url.host) ||
      !is_read_alike(&url)) {
    http_url_clear(&url);
    return error_set(err, ERROR_INVALID_ARGUMENT, "the URL cannot be read");
  }
  *ret_url = url;
  return 0;
}

/* Not with the URL in the message: what could not be taken apart may hold a password anywhere. */
static int
bad_url(CURLUcode code, struct error **err)
{
  return error_set(err, ERROR_INVALID_ARGUMENT, "the URL cannot be read: %s",
                   curl_url_strerror(code));
}

int
http_url_parse(const char *text, struct http_url *ret_url, struct error **err)
{
  CLEANUP(curl_url_cleanupp) CURLU *parsed = curl_url();
  CURLUcode code = curl_url_set(parsed, CURLUPART_URL, text, AS_TYPED);
  if (code != CURLUE_OK)
    return bad_url(code, err);
  return fill(parsed, true, ret_url, err);
}

int
http_url_resolve(const struct http_url *base, const char *location, struct http_url *ret_url,
                 struct error **err)
{
  CLEANUP(curl_url_cleanupp) CURLU *parsed = curl_url();
  CURLUcode code = curl_url_set(parsed, CURLUPART_URL, base->text, LENIENT);
  if (code == CURLUE_OK)
    code = curl_url_set(parsed, CURLUPART_URL, location, LENIENT);
  if (code != CURLUE_OK)
    return bad_url(code, err);
  return fill(parsed, false, ret_url, err);
}

void
http_url_clear(struct http_url *url)
{
  free(url->text);
  free(url->label);
  free(url->host);
  free(url->port);
  free(url->user);
  free(url->password);
  *url = (struct http_url){0};
}

bool
http_url_same_server(const struct http_url *from, const struct http_url *to)
{
  if (strcasecmp(from->host, to->host) != 0)
    return false;
  if (from->is_tls == to->is_tls)
    return strcmp(from->port, to->port) == 0;
  return to->is_tls && strcmp(from->port, "80") == 0 && strcmp(to->port, "443") == 0;
}

static bool
is_unreserved(char c)
{
  return is_alnum(c) || (c && strchr("-._~", c));
}

char *
http_url_encode(const char *text, bool keeps_slash)
{
  char *encoded = xcalloc(strlen(text) + 1, 3);
  size_t len = 0;
  for (; *text; text++) {
    if (is_unreserved(*text) || (keeps_slash && *text == '/'))
      encoded[len++] = *text;
    else
      len += (size_t)snprintf(encoded + len, 4, "%%%02X", (unsigned char)*text);
  }
  return encoded;
}

static int
hex_value(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

char *
http_url_decode(const char *text)
{
  CLEANUP(freep) char *decoded = xcalloc(strlen(text) + 1, 1);
  for (size_t len = 0; *text; text++, len++) {
    decoded[len] = *text;
    if (*text != '%')
      continue;
    int high = hex_value(text[1]);
    int low = high < 0 ? -1 : hex_value(text[2]);
    if (low < 0 || (high == 0 && low == 0))
      return NULL;
    decoded[len] = (char)(high * 16 + low);
    text += 2;
  }
  return TAKE(decoded);
}
