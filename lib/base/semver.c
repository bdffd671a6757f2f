/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are compared as text without leading zeros, so none is too large. */
#include "lib/base/semver.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define NUMBERS_MAX 4
#define IDENTIFIER "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-"

static const char *
behind_v(const char *text)
{
  return (*text == 'v' || *text == 'V') && isdigit((unsigned char)text[1]) ? text + 1 : text;
}

/* Identifiers with points between them; none may be empty. */
static bool
is_identifiers(const char *text, size_t len)
{
  size_t start = 0;
  for (size_t i = 0; i <= len; i++) {
    if (i < len && text[i] != '.') {
      if (!strchr(IDENTIFIER, text[i]))
        return false;
      continue;
    }
    if (i == start)
      return false;
    start = i + 1;
  }
  return true;
}

bool
semver_is(const char *text)
{
  const char *at = behind_v(text);
  for (int count = 0;; at++) {
    size_t digits = strspn(at, "0123456789");
    if (digits == 0 || ++count > NUMBERS_MAX)
      return false;
    at += digits;
    if (*at != '.')
      break;
  }
  if (*at == '-') {
    size_t len = strcspn(at + 1, "+");
    if (!is_identifiers(at + 1, len))
      return false;
    at += len + 1;
  }
  return !*at || (*at == '+' && is_identifiers(at + 1, strlen(at + 1)));
}

static int
compare_numbers(const char *a, size_t a_len, const char *b, size_t b_len)
{
  for (; a_len > 0 && *a == '0'; a++)
    a_len--;
  for (; b_len > 0 && *b == '0'; b++)
    b_len--;
  if (a_len != b_len)
    return a_len < b_len ? -1 : 1;
  return strncmp(a, b, a_len);
}

static int
compare_identifiers(const char *a, size_t a_len, const char *b, size_t b_len)
{
  bool is_a_number = strspn(a, "0123456789") >= a_len;
  bool is_b_number = strspn(b, "0123456789") >= b_len;
  if (is_a_number && is_b_number)
    return compare_numbers(a, a_len, b, b_len);
  if (is_a_number != is_b_number)
    return is_a_number ? -1 : 1;
  int order = strncmp(a, b, a_len < b_len ? a_len : b_len);
  return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* The part of a version up to one of these characters; *text moves behind it, and behind the
 * character when it is `separator`. */
static size_t
take_part(const char **text, const char *ends, char separator)
{
  size_t len = strcspn(*text, ends);
  *text += len + ((*text)[len] == separator);
  return len;
}

static int
compare_prereleases(const char *a, const char *b)
{
  if (*a != '-' || *b != '-') /* one that has none is the release itself */
    return (*a != '-') - (*b != '-');
  a++;
  b++;
  while (*a && *a != '+' && *b && *b != '+') {
    const char *a_part = a;
    const char *b_part = b;
    size_t a_len = take_part(&a, ".+", '.');
    size_t b_len = take_part(&b, ".+", '.');
    int order = compare_identifiers(a_part, a_len, b_part, b_len);
    if (order != 0)
      return order;
  }
  return (*a && *a != '+') - (*b && *b != '+');
}

int
semver_compare(const char *a, const char *b)
{
  a = behind_v(a);
  b = behind_v(b);
  for (int i = 0; i < NUMBERS_MAX; i++) {
    const char *a_part = a;
    const char *b_part = b;
    size_t a_len = isdigit((unsigned char)*a) ? take_part(&a, ".-+", '.') : 0;
    size_t b_len = isdigit((unsigned char)*b) ? take_part(&b, ".-+", '.') : 0;
    int order = compare_numbers(a_part, a_len, b_part, b_len);
    if (order != 0)
      return order;
  }
  return compare_prereleases(a, b);
}

/* What is meant for everybody, and surely a version: "20240101" may be a day. */
static int
rank(const char *text)
{
  const char *at = behind_v(text);
  int numbers = 1;
  for (at += strspn(at, "0123456789"); *at == '.'; numbers++)
    at += 1 + strspn(at + 1, "0123456789");
  return (*at == '-' ? 0 : 2) + (numbers >= 3);
}

/* How much more a speaks for itself than b. */
static int
prefer(const char *a, const char *b)
{
  int order = rank(a) - rank(b);
  if (order == 0)
    order = semver_compare(a, b);
  if (order == 0)
    order = (strlen(a) > strlen(b)) - (strlen(a) < strlen(b));
  return order != 0 ? order : strcmp(a, b) < 0;
}

const char *
semver_highest(const char *const *texts)
{
  const char *best = NULL;
  for (size_t i = 0; texts[i]; i++) {
    if (semver_is(texts[i]) && (!best || prefer(texts[i], best) > 0))
      best = texts[i];
  }
  return best;
}
