/* SPDX-License-Identifier: Apache-2.0 */
/* A number with at most 18 digits is scaled by a power of ten or of two, in 128 bits, so nothing is
 * lost on the way. */
#include "populator/objects/quantity.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/kube/json.h"

#define DIGITS_MAX 18

typedef unsigned __int128 wide;

struct unit {
  const char *name;
  int power_of_ten;
  unsigned power_of_two;
};

static const struct unit units[] = {
    {"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},  {"k", 3, 0},   {"M", 6, 0},
    {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
    {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
};

/* Digits with at most one point; *ret_tens is how far the point moves the value down. */
static const char *
read_digits(const char *text, wide *ret_value, int *ret_tens)
{
  wide value = 0;
  int digits = 0;
  int behind_point = 0;
  bool has_point = false;
  for (; isdigit((unsigned char)*text) || (*text == '.' && !has_point); text++) {
    if (*text == '.') {
      has_point = true;
      continue;
    }
    if (++digits > DIGITS_MAX)
      return NULL;
    value = value * 10 + (unsigned)(*text - '0');
    behind_point += has_point;
  }
  *ret_value = value;
  *ret_tens = -behind_point;
  return digits > 0 ? text : NULL;
}

/* "e6", "E-3": *ret_tens is moved by it. */
static bool
read_exponent(const char *text, int *ret_tens)
{
  if (*text != 'e' && *text != 'E')
    return false;
  text++;
  bool is_negative = *text == '-';
  if (*text == '-' || *text == '+')
    text++;
  int value = 0;
  size_t len = strlen(text);
  if (len == 0 || len > 2)
    return false;
  for (; *text; text++) {
    if (!isdigit((unsigned char)*text))
      return false;
    value = value * 10 + (*text - '0');
  }
  *ret_tens += is_negative ? -value : value;
  return true;
}

static bool
read_unit(const char *text, int *ret_tens, unsigned *ret_twos)
{
  for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
    if (strcmp(units[i].name, text) == 0) {
      *ret_tens += units[i].power_of_ten;
      *ret_twos = units[i].power_of_two;
      return true;
    }
  }
  return read_exponent(text, ret_tens);
}

/* False when it does not fit 64 bits. */
static bool
scale(wide value, int tens, unsigned twos, uint64_t *ret_bytes)
{
  if (value >> 63)
    return false;
  value <<= twos; /* at most 60: fits */
  for (; tens > 0; tens--) {
    if (value >> 120)
      return false;
    value *= 10;
  }
  bool has_rest = false;
  for (; tens < 0 && value > 0; tens++) {
    has_rest = has_rest || value % 10 != 0;
    value /= 10;
  }
  value += has_rest;
  *ret_bytes = (uint64_t)value;
  return value <= INT64_MAX;
}

int
quantity_parse(const char *text, uint64_t *ret_bytes, struct error **err)
{
  wide value;
  int tens;
  unsigned twos = 0;
  const char *rest = read_digits(text, &value, &tens);
  if (!rest || !read_unit(rest, &tens, &twos))
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%.32s' is no quantity", text);
  if (!scale(value, tens, twos, ret_bytes))
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%.32s' is too large", text);
  return 0;
}

int
quantity_of(struct json_object *value, const char *field, uint64_t *ret_bytes, struct error **err)
{
  *ret_bytes = 0;
  if (!value)
    return 0;
  if (!json_object_is_type(value, json_type_string) && !json_object_is_type(value, json_type_int))
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s is no quantity", field);
  if (quantity_parse(json_object_get_string(value), ret_bytes, err) < 0)
    return error_wrap(err, "%s", field);
  return 0;
}

const char *
quantity_text(uint64_t bytes, char buf[QUANTITY_TEXT_BYTES])
{
  static const char *const names[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  size_t unit = 0;
  while (bytes > 0 && bytes % 1024 == 0 && unit + 1 < sizeof(names) / sizeof(names[0])) {
    bytes /= 1024;
    unit++;
  }
  (void)snprintf(buf, QUANTITY_TEXT_BYTES, "%" PRIu64 "%s", bytes, names[unit]);
  return buf;
}
