/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/zone_rule.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/calendar.h"

#define HOURS_MAX 167 /* of a week, which RFC 8536 allows */

/* ---- reading: each moves *text behind what it took ---------------------------------------------
 */

static bool
take_number(const char **text, int max, int *ret_value)
{
  int value = 0;
  const char *c = *text;
  for (; isdigit((unsigned char)*c); c++) {
    value = value * 10 + (*c - '0');
    if (value > max)
      return false;
  }
  if (c == *text)
    return false;
  *text = c;
  *ret_value = value;
  return true;
}

/* "CET", or "<+03>". */
static bool
take_name(const char **text)
{
  const char *c = *text;
  if (*c == '<') {
    c += strcspn(c, ">");
    if (!*c)
      return false;
    *text = c + 1;
    return true;
  }
  while (isalpha((unsigned char)*c))
    c++;
  bool is_name = c - *text >= 3;
  *text = c;
  return is_name;
}

static bool
take_sign(const char **text)
{
  bool is_negative = **text == '-';
  if (**text == '-' || **text == '+')
    (*text)++;
  return is_negative;
}

/* "[+-]hh[:mm[:ss]]" in seconds. */
static bool
take_time(const char **text, int64_t *ret_seconds)
{
  int parts[3] = {0};
  bool is_negative = take_sign(text);
  if (!take_number(text, HOURS_MAX, &parts[0]))
    return false;
  for (int i = 1; i < 3 && **text == ':'; i++) {
    (*text)++;
    if (!take_number(text, 59, &parts[i]))
      return false;
  }
  int64_t seconds = (int64_t)parts[0] * 3600 + (int64_t)parts[1] * 60 + parts[2];
  *ret_seconds = is_negative ? -seconds : seconds;
  return true;
}

static bool
take_character(const char **text, char wanted)
{
  if (**text != wanted)
    return false;
  (*text)++;
  return true;
}

static bool
take_day(const char **text, struct zone_change *change)
{
  if (take_character(text, 'M')) {
    change->form = ZONE_CHANGE_WEEK;
    return take_number(text, 12, &change->month) && take_character(text, '.') &&
           take_number(text, 5, &change->week) && take_character(text, '.') &&
           take_number(text, 6, &change->weekday) && change->month >= 1 && change->week >= 1;
  }
  if (take_character(text, 'J')) {
    change->form = ZONE_CHANGE_JULIAN;
    return take_number(text, 365, &change->day) && change->day >= 1;
  }
  change->form = ZONE_CHANGE_ZERO_BASED;
  return take_number(text, 365, &change->day);
}

static bool
take_change(const char **text, struct zone_change *change)
{
  change->second = (int64_t)2 * 3600;
  if (!take_character(text, ',') || !take_day(text, change))
    return false;
  return !take_character(text, '/') || take_time(text, &change->second);
}

bool
zone_rule_parse(const char *text, struct zone_rule *ret_rule)
{
  struct zone_rule rule = {0};
  if (!take_name(&text) || !take_time(&text, &rule.standard_offset_s))
    return false;
  rule.standard_offset_s = -rule.standard_offset_s; /* POSIX counts west of Greenwich */
  if (*text) {
    rule.has_summer = true;
    rule.summer_offset_s = rule.standard_offset_s + 3600;
    if (!take_name(&text))
      return false;
    if (*text != ',') {
      if (!take_time(&text, &rule.summer_offset_s))
        return false;
      rule.summer_offset_s = -rule.summer_offset_s;
    }
    if (!take_change(&text, &rule.begin) || !take_change(&text, &rule.end) || *text)
      return false;
  }
  *ret_rule = rule;
  return true;
}

/* ---- looking ----------------------------------------------------------------------------------
 */

static int64_t
day_of_change(const struct zone_change *change, int64_t year)
{
  int64_t january = calendar_days_of(year, 1, 1);
  if (change->form == ZONE_CHANGE_ZERO_BASED)
    return january + change->day;
  if (change->form == ZONE_CHANGE_JULIAN)
    return january + change->day - 1 + (calendar_is_leap_year(year) && change->day >= 60);
  int64_t first = calendar_days_of(year, change->month, 1);
  int day = (change->weekday - calendar_weekday(first) + 7) % 7 + (change->week - 1) * 7;
  while (day >= calendar_days_in_month(year, change->month))
    day -= 7;
  return first + day;
}

static int64_t
change_s(const struct zone_change *change, int64_t year, int64_t offset_before_s)
{
  return day_of_change(change, year) * CALENDAR_DAY_S + change->second - offset_before_s;
}

/* By the clocks of winter, whatever they show: the year that a moment is looked up in. */
static int64_t
year_of(const struct zone_rule *rule, int64_t at_s)
{
  return calendar_date_of(calendar_day_of_s(at_s + rule->standard_offset_s)).year;
}

int64_t
zone_rule_offset_s(const struct zone_rule *rule, int64_t at_s)
{
  if (!rule->has_summer)
    return rule->standard_offset_s;
  int64_t year = year_of(rule, at_s);
  int64_t begin_s = change_s(&rule->begin, year, rule->standard_offset_s);
  int64_t end_s = change_s(&rule->end, year, rule->summer_offset_s);
  /* South of the equator summer begins in one year and ends in the next. */
  bool is_summer =
      begin_s < end_s ? at_s >= begin_s && at_s < end_s : at_s >= begin_s || at_s < end_s;
  return is_summer ? rule->summer_offset_s : rule->standard_offset_s;
}

int64_t
zone_rule_steady_until_s(const struct zone_rule *rule, int64_t at_s)
{
  if (!rule->has_summer)
    return INT64_MAX;
  int64_t year = year_of(rule, at_s);
  const int64_t changes[] = {
      change_s(&rule->begin, year, rule->standard_offset_s),
      change_s(&rule->end, year, rule->summer_offset_s),
      calendar_days_of(year + 1, 1, 1) * CALENDAR_DAY_S - rule->standard_offset_s,
  };
  int64_t first_s = INT64_MAX;
  for (int i = 0; i < 3; i++) {
    if (changes[i] > at_s && changes[i] < first_s)
      first_s = changes[i];
  }
  return first_s;
}
