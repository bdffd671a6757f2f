/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_header.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "lib/base/text.h"

/* Digits at *at, which moves behind them. */
static int
take_number(const char **at, uint64_t *ret_value)
{
  uint64_t value = 0;
  const char *start = *at;
  for (; **at >= '0' && **at <= '9'; (*at)++) {
    if (__builtin_mul_overflow(value, 10u, &value) ||
        __builtin_add_overflow(value, (uint64_t)(**at - '0'), &value))
      return -1;
  }
  if (*at == start)
    return -1;
  *ret_value = value;
  return 0;
}

static bool
take(const char **at, char c)
{
  if (**at != c)
    return false;
  (*at)++;
  return true;
}

static int
take_bytes(const char **at, struct http_content_range *range)
{
  if (take(at, '*'))
    return 0;
  range->has_bytes = true;
  if (take_number(at, &range->first) < 0 || !take(at, '-') || take_number(at, &range->last) < 0)
    return -1;
  /* the number of bytes must be one too */
  return range->first <= range->last && range->last < UINT64_MAX ? 0 : -1;
}

int
http_content_range_parse(const char *value, struct http_content_range *ret_range)
{
  struct http_content_range range = {.total = UINT64_MAX};
  if (strncasecmp(value, "bytes", 5) != 0)
    return -1;
  const char *at = value + 5;
  if (!take(&at, ' '))
    return -1;
  if (take_bytes(&at, &range) < 0 || !take(&at, '/'))
    return -1;
  bool has_total = !take(&at, '*');
  if (has_total && (take_number(&at, &range.total) < 0 || range.total == UINT64_MAX))
    return -1;
  if (*at || (!range.has_bytes && !has_total))
    return -1;
  if (range.has_bytes && has_total && range.last >= range.total)
    return -1;
  *ret_range = range;
  return 0;
}

/* Printable ASCII but quotes, at least one. */
static bool
is_opaque(const char *s, size_t len)
{
  for (size_t i = 0; i < len; i++) {
    if (s[i] <= ' ' || s[i] > '~' || s[i] == '"')
      return false;
  }
  return len > 0;
}

/* What stands between the quotes, or the whole when there are none. */
static enum http_etag_kind
split_etag(const char *etag, const char **ret_opaque, size_t *ret_len)
{
  bool is_weak = text_starts_with(etag, "W/");
  const char *opaque = is_weak ? etag + 2 : etag;
  size_t len = strlen(opaque);
  bool is_quoted = len > 2 && opaque[0] == '"' && opaque[len - 1] == '"';
  if (is_quoted)
    opaque++, len -= 2;
  if (!is_opaque(opaque, len))
    return HTTP_ETAG_NONE;
  *ret_opaque = opaque;
  *ret_len = len;
  return is_weak || !is_quoted ? HTTP_ETAG_WEAK : HTTP_ETAG_STRONG;
}

enum http_etag_kind
http_etag_kind(const char *etag)
{
  const char *opaque;
  size_t len;
  return split_etag(etag, &opaque, &len);
}

bool
http_etag_matches(const char *a, const char *b)
{
  const char *a_opaque;
  const char *b_opaque;
  size_t a_len;
  size_t b_len;
  return split_etag(a, &a_opaque, &a_len) != HTTP_ETAG_NONE &&
         split_etag(b, &b_opaque, &b_len) != HTTP_ETAG_NONE && a_len == b_len &&
         memcmp(a_opaque, b_opaque, a_len) == 0;
}

int
http_retry_after_parse(const char *value, int64_t now, uint64_t *ret_seconds)
{
  if (text_to_u64(value, 10, ret_seconds) == 0)
    return 0;
  if (value[0] >= '0' && value[0] <= '9')
    return -1; /* a number that is none; curl would take it for a date */
  time_t at = curl_getdate(value, NULL);
  if (at == (time_t)-1)
    return -1;
  *ret_seconds = at > now ? (uint64_t)(at - now) : 0;
  return 0;
}
