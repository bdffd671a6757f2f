/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/disk_uri.h"

#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/http_url.h"

#define DEFAULT_PORT "10809"
/* The protocol's own limit for names. */
#define EXPORT_NAME_MAX 4096

void
disk_uri_clear(struct disk_uri *uri)
{
  free(uri->label);
  free(uri->host);
  free(uri->port);
  free(uri->path);
  free(uri->export_name);
  *uri = (struct disk_uri){0};
}

static bool
has_prefix(const char *text, const char *prefix)
{
  return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

/* "host", "host:port", "[fd00::1]:port". */
static int
parse_authority(char *text, struct disk_uri *uri)
{
  uint64_t port = 0;
  char *close = text[0] == '[' ? strchr(text, ']') : NULL;
  char *rest = close ? close + 1 : strchr(text, ':');
  if (text[0] == '[' && !close)
    return -1;
  const char *port_text = rest && *rest == ':' && rest[1] ? rest + 1 : DEFAULT_PORT;
  if (rest && *rest != ':' && *rest != '\0')
    return -1;
  if (text_to_u64(port_text, 10, &port) < 0 || port == 0 || port > UINT16_MAX)
    return -1;
  uri->port = xstrdup(port_text);
  if (close)
    *close = '\0';
  else if (rest)
    *rest = '\0';
  const char *host = close ? text + 1 : text;
  bool is_plain = *host && strlen(host) < 256 && !strpbrk(host, "@[]%\\ \t\r\n");
  uri->host = xstrdup(host);
  return is_plain ? 0 : -1;
}

/* "socket=PATH" and nothing else. */
static int
parse_socket(const char *query, struct disk_uri *uri)
{
  static const char key[] = "socket=";
  struct sockaddr_un address;
  if (!query || !text_starts_with(query, key) || strchr(query, '&'))
    return -1;
  uri->path = http_url_decode(query + sizeof(key) - 1);
  return uri->path && uri->path[0] == '/' && strlen(uri->path) < sizeof(address.sun_path) ? 0 : -1;
}

static int
parse_rest(char *rest, bool is_unix, struct disk_uri *uri)
{
  char *query = strchr(rest, '?');
  if (query)
    *query++ = '\0';
  char *slash = strchr(rest, '/');
  uri->export_name = http_url_decode(slash ? slash + 1 : "");
  if (slash)
    *slash = '\0';
  if (!uri->export_name || strlen(uri->export_name) > EXPORT_NAME_MAX)
    return -1;
  if (is_unix)
    return *rest ? -1 : parse_socket(query, uri);
  return query ? -1 : parse_authority(rest, uri);
}

int
disk_uri_parse(const char *text, struct disk_uri *ret_uri, struct error **err)
{
  struct disk_uri uri = {.label = xstrdup(text)};
  bool is_unix = has_prefix(text, "nbd+unix://");
  uri.is_tls = has_prefix(text, "nbds://");
  bool is_known = is_unix || uri.is_tls || has_prefix(text, "nbd://");
  const char *begin = strstr(text, "://");
  CLEANUP(freep) char *rest = xstrdup(begin ? begin + 3 : "");
  if (!is_known || strchr(text, '#') || parse_rest(rest, is_unix, &uri) < 0) {
    bool may_hold_password = strchr(text, '@') != NULL;
    disk_uri_clear(&uri);
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%.200s' is not like nbd://host:port/export, nbds://host:port/export or "
                     "nbd+unix:///export?socket=/path",
                     may_hold_password ? "a URL that names a user" : text);
  }
  *ret_uri = uri;
  return 0;
}
