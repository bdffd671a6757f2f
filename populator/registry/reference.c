/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar is that of the distribution specification: what passes goes into a URL's path without
 * any quoting. */
#include "populator/registry/reference.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/transfer/checksum.h"

#define DEFAULT_TAG "latest"
#define HUB_SERVER "registry-1.docker.io"
#define HUB_LIBRARY "library"
#define HOST_MAX (255 + 1 + 5)
#define REPOSITORY_MAX 255
#define TAG_MAX 128

static int
bad(const char *url, const char *what, struct error **err)
{
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "'%.256s': %s; wanted is " REFERENCE_SCHEME
                   "[HOST[:PORT]/]REPOSITORY[:TAG][@sha256:DIGEST]",
                   url, what);
}

static bool
is_lower_or_digit(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool
is_word(char c)
{
  return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

/* ---- host --------------------------------------------------------------------------------------
 */

/* ":5000", or nothing. */
static bool
is_port(const char *text)
{
  uint64_t port;
  if (!*text)
    return true;
  return *text == ':' && strlen(text) <= 6 && text_to_u64(text + 1, 10, &port) == 0 && port > 0 &&
         port <= 65535;
}

static bool
is_host(const char *host)
{
  if (strlen(host) > HOST_MAX)
    return false;
  if (host[0] == '[') {
    size_t len = strspn(host + 1, "0123456789abcdefABCDEF:.");
    return len > 1 && host[1 + len] == ']' && is_port(host + len + 2);
  }
  size_t len = 0;
  while ((is_word(host[len]) && host[len] != '_') || host[len] == '.' || host[len] == '-')
    len++;
  return len > 0 && host[0] != '-' && host[0] != '.' && host[len - 1] != '-' && is_port(host + len);
}

/* ---- repository and tag ------------------------------------------------------------------------
 */

/* Between letters and digits: '.', one or two '_', any number of '-'. */
static size_t
separator_len(const char *at)
{
  if (*at == '.')
    return 1;
  if (*at == '_')
    return at[1] == '_' ? 2 : 1;
  return strspn(at, "-");
}

static bool
is_repository(const char *name)
{
  if (strlen(name) > REPOSITORY_MAX)
    return false;
  for (;;) {
    if (!is_lower_or_digit(*name))
      return false;
    while (is_lower_or_digit(*name))
      name++;
    if (!*name)
      return true;
    size_t len = *name == '/' ? 1 : separator_len(name);
    if (len == 0)
      return false;
    name += len;
  }
}

static bool
is_tag(const char *tag)
{
  if (!is_word(*tag) || strlen(tag) > TAG_MAX)
    return false;
  while (is_word(*tag) || *tag == '.' || *tag == '-')
    tag++;
  return !*tag;
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

/* Cuts the text at the last `mark` and returns what stands behind it, or NULL. */
static char *
cut(char *text, char mark)
{
  char *at = strrchr(text, mark);
  if (!at)
    return NULL;
  *at = '\0';
  return xstrdup(at + 1);
}

static int
parse_name(const char *url, char *name, struct reference *reference, struct error **err)
{
  enum checksum_kind kind;
  reference->digest = cut(name, '@');
  if (reference->digest && checksum_parse(reference->digest, &kind, err) < 0)
    return error_wrap(err, "'%.256s'", url);
  reference->tag = cut(name, ':');
  if (reference->tag && !is_tag(reference->tag))
    return bad(url, "the tag is malformed", err);
  if (!is_repository(name))
    return bad(url,
               "the repository is malformed: lower-case letters and digits, with '.', '_', '-' "
               "and '/' between them",
               err);
  reference->repository = xstrdup(name);
  return 0;
}

static bool
is_hub(const struct reference *reference)
{
  return strcmp(reference->host, REFERENCE_HUB) == 0;
}

static void
replace(char **member, char *text)
{
  free(*member);
  *member = text;
}

static void
complete_hub(struct reference *reference)
{
  if (strcmp(reference->host, REFERENCE_HUB_INDEX) == 0)
    replace(&reference->host, xstrdup(REFERENCE_HUB));
  if (is_hub(reference) && !strchr(reference->repository, '/'))
    replace(&reference->repository, xasprintf(HUB_LIBRARY "/%s", reference->repository));
}

/* Whether the first part is a host, or already a part of a name at Docker Hub. */
static bool
names_host(const char *first, size_t len)
{
  if (len == strlen("localhost") && strncmp(first, "localhost", len) == 0)
    return true;
  for (size_t i = 0; i < len; i++) {
    if (first[i] == '.' || first[i] == ':' || (first[i] >= 'A' && first[i] <= 'Z'))
      return true;
  }
  return false;
}

/* "user:password@host"; but an '@' in a name without a host may begin a digest. */
static bool
names_user(const char *first, const char *slash)
{
  const char *end = slash ? slash : first + strlen(first);
  const char *at = memchr(first, '@', (size_t)(end - first));
  return at && (slash || !text_starts_with(at + 1, "sha"));
}

static int
parse(const char *url, struct reference *reference, struct error **err)
{
  if (!text_starts_with(url, REFERENCE_SCHEME))
    return bad(url, "not the URL of an image in a registry", err);
  const char *first = url + strlen(REFERENCE_SCHEME);
  const char *slash = strchr(first, '/');
  if (names_user(first, slash)) /* not shown: a password may stand there */
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "the URL of an image names a user: credentials are given in other ways");
  bool has_host = slash && names_host(first, (size_t)(slash - first));
  reference->host = has_host ? xstrndup(first, (size_t)(slash - first)) : xstrdup(REFERENCE_HUB);
  if (!is_host(reference->host))
    return bad(url, "the host of the registry is malformed", err);
  CLEANUP(freep) char *name = xstrdup(has_host ? slash + 1 : first);
  if (parse_name(url, name, reference, err) < 0)
    return -1;
  complete_hub(reference);
  if (strlen(reference->repository) > REPOSITORY_MAX)
    return bad(url, "the repository's name is too long", err);
  return 0;
}

int
reference_parse(const char *url, struct reference *ret_reference, struct error **err)
{
  CLEANUP(reference_clear) struct reference reference = {0};
  if (parse(url, &reference, err) < 0)
    return -1;
  *ret_reference = reference;
  reference = (struct reference){0};
  return 0;
}

void
reference_clear(struct reference *reference)
{
  free(reference->host);
  free(reference->repository);
  free(reference->tag);
  free(reference->digest);
  *reference = (struct reference){0};
}

const char *
reference_server(const struct reference *reference)
{
  return is_hub(reference) ? HUB_SERVER : reference->host;
}

const char *
reference_version(const struct reference *reference)
{
  if (reference->digest)
    return reference->digest;
  return reference->tag ? reference->tag : DEFAULT_TAG;
}

char *
reference_url(const struct reference *reference)
{
  const char *tag = reference->tag ? reference->tag : DEFAULT_TAG;
  bool has_tag = reference->tag || !reference->digest;
  return xasprintf(REFERENCE_SCHEME "%s/%s%s%s%s%s", reference->host, reference->repository,
                   has_tag ? ":" : "", has_tag ? tag : "", reference->digest ? "@" : "",
                   reference->digest ? reference->digest : "");
}
