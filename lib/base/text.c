/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The length of the sequence that starts at s, 0 when it is not valid. */
static size_t
utf8_sequence(const unsigned char *s, size_t len)
{
  if (s[0] < 0x80)
    return 1;
  size_t need;
  uint32_t code;
  uint32_t least;
  if ((s[0] & 0xe0) == 0xc0) {
    need = 2, code = s[0] & 0x1fu, least = 0x80;
  } else if ((s[0] & 0xf0) == 0xe0) {
    need = 3, code = s[0] & 0x0fu, least = 0x800;
  } else if ((s[0] & 0xf8) == 0xf0) {
    need = 4, code = s[0] & 0x07u, least = 0x10000;
  } else {
    return 0;
  }
  if (len < need)
    return 0;
  for (size_t i = 1; i < need; i++) {
    if ((s[i] & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (s[i] & 0x3fu);
  }
  bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < least || is_surrogate || code > 0x10ffff ? 0 : need;
}

bool
text_is_utf8(const char *s, size_t len)
{
  const unsigned char *at = (const unsigned char *)s;
  while (len > 0) {
    size_t step = utf8_sequence(at, len);
    if (step == 0)
      return false;
    at += step;
    len -= step;
  }
  return true;
}

size_t
text_utf8_prefix(const char *s, size_t max_len)
{
  size_t len = 0;
  while (s[len]) {
    size_t step = utf8_sequence((const unsigned char *)s + len, strnlen(s + len, 4));
    if (step == 0 || len + step > max_len)
      break;
    len += step;
  }
  return len;
}

/* What ends a line, moves a cursor or changes colours; U+0080 to U+009F, too. */
static bool
is_control(const unsigned char *s)
{
  return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

static bool
is_blank(unsigned char c)
{
  return c == '\t' || c == '\n' || c == '\r';
}

void
text_make_line(char *s)
{
  const unsigned char *at = (const unsigned char *)s;
  size_t left = strlen(s);
  bool is_broken = false; /* what is broken is one '?', however many bytes it has */
  while (left > 0) {
    size_t step = utf8_sequence(at, left);
    if (step > 0 && !is_control(at)) {
      memmove(s, at, step);
      s += step;
    } else if (step > 0 || !is_broken) {
      *s++ = is_blank(*at) ? ' ' : '?';
    }
    is_broken = step == 0;
    at += step > 0 ? step : 1;
    left -= step > 0 ? step : 1;
  }
  *s = '\0';
}

static bool
is_alnum(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool
text_is_plain_name(const char *s, size_t max_len)
{
  if (!is_alnum(s[0]))
    return false;
  size_t len = 0;
  for (; s[len]; len++) {
    if (len >= max_len)
      return false;
    if (!is_alnum(s[len]) && s[len] != '.' && s[len] != '_' && s[len] != '-')
      return false;
  }
  return len <= max_len;
}

bool
text_starts_with(const char *s, const char *prefix)
{
  return strncmp(s, prefix, strlen(prefix)) == 0;
}

static int
digit_value(char c, unsigned base)
{
  int value = -1;
  if (c >= '0' && c <= '9')
    value = c - '0';
  else if (c >= 'a' && c <= 'f')
    value = c - 'a' + 10;
  return value < (int)base ? value : -1;
}

/* Digits at s into *ret_value; *ret_end points behind them. */
static int
parse_digits(const char *s, unsigned base, uint64_t *ret_value, const char **ret_end)
{
  uint64_t value = 0;
  const char *at = s;
  for (; *at; at++) {
    int digit = digit_value(*at, base);
    if (digit < 0)
      break;
    if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
        __builtin_add_overflow(value, (uint64_t)digit, &value))
      return -1;
  }
  if (at == s)
    return -1;
  *ret_value = value;
  *ret_end = at;
  return 0;
}

int
text_to_u64(const char *s, unsigned base, uint64_t *ret_value)
{
  uint64_t value;
  const char *end;
  if (parse_digits(s, base, &value, &end) < 0 || *end)
    return -1;
  *ret_value = value;
  return 0;
}

int
text_to_bytes(const char *s, uint64_t *ret_bytes)
{
  static const struct {
    const char *suffix;
    uint64_t factor;
  } units[] = {
      {"", 1},
      {"k", 1000},
      {"M", 1000000},
      {"G", 1000000000},
      {"T", 1000000000000},
      {"Ki", 1ULL << 10},
      {"Mi", 1ULL << 20},
      {"Gi", 1ULL << 30},
      {"Ti", 1ULL << 40},
      {"Pi", 1ULL << 50},
  };
  uint64_t value;
  const char *end;
  if (parse_digits(s, 10, &value, &end) < 0)
    return -1;
  for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
    if (strcmp(end, units[i].suffix) != 0)
      continue;
    if (__builtin_mul_overflow(value, units[i].factor, &value))
      return -1;
    *ret_bytes = value;
    return 0;
  }
  return -1;
}

static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};

const char *
text_of_about_bytes(uint64_t bytes, char buf[TEXT_BYTES_MAX])
{
  double value = (double)bytes;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
    value /= 1024;
    unit++;
  }
  (void)snprintf(buf, TEXT_BYTES_MAX, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return buf;
}

const char *
text_of_bytes(uint64_t bytes, char buf[TEXT_BYTES_MAX])
{
  size_t unit = 0;
  uint64_t value = bytes;
  while (value > 0 && value % 1024 == 0 && unit + 1 < sizeof(units) / sizeof(units[0])) {
    value /= 1024;
    unit++;
  }
  (void)snprintf(buf, TEXT_BYTES_MAX, "%" PRIu64 " %s", value, units[unit]);
  return buf;
}
