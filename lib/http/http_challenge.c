/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar is ambiguous at commas: after one comes either a further parameter (`name=value`) or
 * a further challenge (`Scheme`, `Scheme name=value`, `Scheme base64==`). What follows the next
 * word tells: a '=' makes it a parameter. */
#include "lib/http/http_challenge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"

static bool
is_token_char(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c && strchr("!#$%&'*+-.^_`|~", c));
}

static const char *
skip_blanks(const char *at)
{
  return at + strspn(at, " \t");
}

static size_t
token_len(const char *at)
{
  size_t len = 0;
  while (is_token_char(at[len]))
    len++;
  return len;
}

/* A quoted string without its quotes and backslashes; *at moves behind it. NULL when it does not
 * end. */
static char *
take_quoted(const char **at)
{
  const char *from = *at + 1;
  CLEANUP(freep) char *text = xcalloc(strlen(from) + 1, 1);
  size_t len = 0;
  for (; *from && *from != '"'; from++) {
    if (*from == '\\' && from[1])
      from++;
    text[len++] = *from;
  }
  if (*from != '"')
    return NULL;
  *at = from + 1;
  return TAKE(text);
}

static char *
take_value(const char **at)
{
  if (**at == '"')
    return take_quoted(at);
  size_t len = token_len(*at);
  if (len == 0)
    return NULL;
  char *value = xstrndup(*at, len);
  *at += len;
  return value;
}

/* Where the '=' of a parameter stands that begins at `at`, or NULL. */
static const char *
parameter_sign(const char *at)
{
  size_t len = token_len(at);
  const char *sign = skip_blanks(at + len);
  return len > 0 && *sign == '=' ? sign : NULL;
}

/* The first value of a name counts. */
static void
keep(struct http_challenge *challenge, const char *name, size_t name_len, char **value)
{
  const struct {
    const char *name;
    char **member;
  } known[] = {
      {"realm", &challenge->realm}, {"service", &challenge->service}, {"scope", &challenge->scope}};
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
    if (strlen(known[i].name) == name_len && strncasecmp(known[i].name, name, name_len) == 0 &&
        !*known[i].member)
      *known[i].member = TAKE(*value);
  }
}

static int
take_parameter(const char **at, struct http_challenge *challenge)
{
  const char *name = *at;
  size_t name_len = token_len(name);
  const char *value_at = skip_blanks(parameter_sign(name) + 1);
  CLEANUP(freep) char *value = take_value(&value_at);
  if (!value)
    return -1;
  keep(challenge, name, name_len, &value);
  *at = skip_blanks(value_at);
  return **at == ',' || !**at ? 0 : -1;
}

/* "TlRMTVNT==", which is all that some schemes say. */
static const char *
skip_token68(const char *at)
{
  size_t len = 0;
  while (is_token_char(at[len]) || at[len] == '/')
    len++;
  size_t end = len + strspn(at + len, "=");
  const char *behind = skip_blanks(at + end);
  return len > 0 && (*behind == ',' || !*behind) ? behind : NULL;
}

static const char *
skip_commas(const char *at)
{
  return at + strspn(at, ", \t");
}

/* Everything behind the scheme's name; *at moves to the next challenge or the end. */
static int
take_rest(const char **at, struct http_challenge *challenge)
{
  const char *behind = skip_token68(*at);
  if (behind) {
    *at = skip_commas(behind);
    return 0;
  }
  while (parameter_sign(*at)) {
    if (take_parameter(at, challenge) < 0)
      return -1;
    *at = skip_commas(*at);
  }
  return 0;
}

int
http_challenge_find(const char *www_authenticate, const char *scheme,
                    struct http_challenge *ret_challenge)
{
  const char *at = skip_commas(www_authenticate);
  while (*at) {
    const char *name = at;
    size_t len = token_len(at);
    if (len == 0 || (at[len] && !strchr(" \t,", at[len])))
      return -1;
    at = skip_commas(at + len);
    struct http_challenge challenge = {0};
    if (name[len] != ',' && take_rest(&at, &challenge) < 0) {
      http_challenge_clear(&challenge);
      return -1;
    }
    if (strlen(scheme) == len && strncasecmp(scheme, name, len) == 0) {
      *ret_challenge = challenge;
      return 0;
    }
    http_challenge_clear(&challenge);
  }
  return -1;
}

void
http_challenge_clear(struct http_challenge *challenge)
{
  free(challenge->realm);
  free(challenge->service);
  free(challenge->scope);
  *challenge = (struct http_challenge){0};
}
