/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/cron.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/base/calendar.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define TEXT_BYTES_MAX_CRON 1024
#define YEARS_MAX 10

/* ---- reading ----------------------------------------------------------------------------------
 */

struct field {
  const char *name;
  int min, max;
  int last;                 /* of all of them: one has two numbers for one day */
  const char *const *names; /* of min, min + 1 …; ends with NULL */
};

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                          "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};
static const char *const no_names[] = {NULL};

#define FIELDS 5
#define WEEKDAY 4
static const struct field fields[FIELDS] = {
    {"minute", 0, 59, 59, no_names},
    {"hour", 0, 23, 23, no_names},
    {"day of the month", 1, 31, 31, no_names},
    {"month", 1, 12, 12, month_names},
    {"day of the week", 0, 7, 6, weekday_names},
};

/* One value of a field, by number or by name. */
static int
read_value(const struct field *field, const char *text, size_t len, int *ret_value,
           struct error **err)
{
  for (int i = 0; field->names[i]; i++) {
    if (len == strlen(field->names[i]) && strncasecmp(text, field->names[i], len) == 0) {
      *ret_value = field->min + i;
      return 0;
    }
  }
  uint64_t value;
  CLEANUP(freep) char *copy = xstrndup(text, len);
  if (len == 0 || text_to_u64(copy, 10, &value) < 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s: '%.32s' is no value", field->name, copy);
  if (value < (uint64_t)field->min || value > (uint64_t)field->max)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s: %.32s is not within %d to %d", field->name,
                     copy, field->min, field->max);
  *ret_value = (int)value;
  return 0;
}

/* A list's item: what is in front of the slash, and the step behind it. */
struct item {
  int first, last, step;
  bool is_all;
};

static int
read_range(const struct field *field, const char *text, size_t len, struct item *item,
           struct error **err)
{
  const char *dash = memchr(text, '-', len);
  item->is_all = len == 1 && (*text == '*' || *text == '?');
  if (item->is_all) {
    item->first = field->min;
    item->last = field->last;
    return 0;
  }
  size_t first_len = dash ? (size_t)(dash - text) : len;
  if (read_value(field, text, first_len, &item->first, err) < 0)
    return -1;
  item->last = item->first;
  if (dash && read_value(field, dash + 1, len - first_len - 1, &item->last, err) < 0)
    return -1;
  if (item->last < item->first)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s: the range '%.*s' goes backwards",
                     field->name, (int)len, text);
  return 0;
}

static int
read_item(const struct field *field, const char *text, size_t len, struct item *item,
          struct error **err)
{
  const char *slash = memchr(text, '/', len);
  size_t range_len = slash ? (size_t)(slash - text) : len;
  item->step = 1;
  if (read_range(field, text, range_len, item, err) < 0)
    return -1;
  if (!slash)
    return 0;
  uint64_t step;
  CLEANUP(freep) char *copy = xstrndup(slash + 1, len - range_len - 1);
  if (text_to_u64(copy, 10, &step) < 0 || step == 0 || step > 60)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s: the step '%.32s' is none", field->name,
                     copy);
  if (!item->is_all && !memchr(text, '-', range_len))
    item->last = field->last; /* "5/10" */
  item->step = (int)step;
  return 0;
}

/* *ret_is_any: it was left open, which a step takes back. */
static int
read_field(const struct field *field, const char *text, size_t len, uint64_t *ret_bits,
           bool *ret_is_any, struct error **err)
{
  const char *end = text + len;
  *ret_bits = 0;
  *ret_is_any = false;
  for (const char *at = text; at <= end;) {
    const char *comma = memchr(at, ',', (size_t)(end - at));
    size_t item_len = (size_t)((comma ? comma : end) - at);
    struct item item;
    if (read_item(field, at, item_len, &item, err) < 0)
      return -1;
    *ret_is_any = *ret_is_any || (item.is_all && item.step == 1);
    for (int value = item.first; value <= item.last; value += item.step)
      *ret_bits |= (uint64_t)1 << value;
    at += item_len + 1;
  }
  return 0;
}

/* Both 0 and 7 are Sunday; "*" must not be seven days and one. */
static uint64_t
fold_sunday(uint64_t bits)
{
  return (bits | bits >> 7) & 0x7f;
}

static int
read_fields(const char *text, struct cron *cron, struct error **err)
{
  uint64_t *const bits[FIELDS] = {&cron->minutes, &cron->hours, &cron->days, &cron->months,
                                  &cron->weekdays};
  bool is_any[FIELDS];
  for (size_t i = 0; i < FIELDS; i++) {
    text += strspn(text, " \t");
    size_t len = strcspn(text, " \t");
    if (len == 0)
      return error_set(err, ERROR_INVALID_ARGUMENT, "the field %s is missing: five are needed",
                       fields[i].name);
    if (read_field(&fields[i], text, len, bits[i], &is_any[i], err) < 0)
      return -1;
    text += len;
  }
  text += strspn(text, " \t");
  if (*text)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%.32s' is too much: there are five fields",
                     text);
  cron->weekdays = fold_sunday(cron->weekdays);
  cron->is_any_day = is_any[2];
  cron->is_any_weekday = is_any[WEEKDAY];
  return 0;
}

static const struct {
  const char *name;
  const char *fields;
} nicknames[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

static int
read_schedule(const char *text, struct cron *cron, struct error **err)
{
  if (*text != '@')
    return read_fields(text, cron, err);
  size_t len = strcspn(text, " \t");
  bool is_alone = !text[len + strspn(text + len, " \t")];
  for (size_t i = 0; is_alone && i < sizeof(nicknames) / sizeof(nicknames[0]); i++) {
    if (strlen(nicknames[i].name) == len && strncasecmp(text, nicknames[i].name, len) == 0)
      return read_fields(nicknames[i].fields, cron, err);
  }
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "'%.32s' is not known: there are @yearly, @monthly, @weekly, @daily and @hourly",
                   text);
}

/* "CRON_TZ=Europe/Berlin " is taken off. */
static int
read_zone(const char **text, struct cron *cron, struct error **err)
{
  static const char *const words[] = {"CRON_TZ=", "TZ="};
  for (size_t i = 0; i < 2; i++) {
    if (!text_starts_with(*text, words[i]))
      continue;
    const char *name = *text + strlen(words[i]);
    size_t len = strcspn(name, " \t");
    CLEANUP(freep) char *copy = xstrndup(name, len);
    *text = name + len + strspn(name + len, " \t");
    if (len == 0)
      return error_set(err, ERROR_INVALID_ARGUMENT, "%s names no time zone", words[i]);
    return time_zone_open(copy, &cron->zone, err);
  }
  return 0;
}

int
cron_parse(const char *text, struct cron *ret_cron, struct error **err)
{
  struct cron cron = {0};
  CLEANUP(error_freep) struct error *failure = NULL;
  const char *at = text + strspn(text, " \t");
  int r = 0;
  if (strlen(text) > TEXT_BYTES_MAX_CRON)
    r = error_set(&failure, ERROR_INVALID_ARGUMENT, "it is too long");
  if (r == 0)
    r = read_zone(&at, &cron, &failure);
  if (r == 0)
    r = read_schedule(at, &cron, &failure);
  if (r < 0) {
    cron_clear(&cron);
    return error_set(err, failure->code, "schedule '%.64s': %s", text, failure->message);
  }
  *ret_cron = cron;
  return 0;
}

void
cron_clear(struct cron *cron)
{
  time_zone_close(cron->zone);
  *cron = (struct cron){0};
}

/* ---- looking ----------------------------------------------------------------------------------
 */

static bool
has(uint64_t bits, int64_t value)
{
  return bits >> value & 1;
}

static bool
is_on_day(const struct cron *cron, int64_t days)
{
  struct calendar_date date = calendar_date_of(days);
  bool is_day = has(cron->days, date.day);
  bool is_weekday = has(cron->weekdays, calendar_weekday(days));
  if (!has(cron->months, date.month))
    return false;
  return cron->is_any_day || cron->is_any_weekday ? is_day && is_weekday : is_day || is_weekday;
}

/* How far, by the clocks, until the next moment that is worth looking at; 0: this one is it. */
static int64_t
step_s(const struct cron *cron, int64_t local_s)
{
  int64_t second = calendar_second_of_day(local_s);
  if (!is_on_day(cron, calendar_day_of_s(local_s)))
    return CALENDAR_DAY_S - second;
  if (!has(cron->hours, second / 3600))
    return 3600 - second % 3600;
  return has(cron->minutes, second % 3600 / 60) ? 0 : 60;
}

static int64_t
whole_minutes_s(int64_t seconds)
{
  return (seconds + 59) / 60 * 60;
}

int
cron_next(const struct cron *cron, int64_t after_s, int64_t *ret_at_s, struct error **err)
{
  int64_t at_s = after_s - (calendar_second_of_day(after_s) % 60) + 60;
  int64_t end_s = at_s + (int64_t)YEARS_MAX * 366 * CALENDAR_DAY_S;
  while (at_s < end_s) {
    int64_t offset_s = time_zone_offset_s(cron->zone, at_s);
    int64_t step = step_s(cron, at_s + offset_s);
    if (step == 0) {
      *ret_at_s = at_s;
      return 0;
    }
    /* A jump across a change of the clocks would land somewhere else than it means to. */
    int64_t steady_until_s = time_zone_steady_until_s(cron->zone, at_s);
    at_s += whole_minutes_s(at_s + step <= steady_until_s ? step : steady_until_s - at_s);
  }
  return error_set(err, ERROR_NOT_FOUND, "the schedule has no time within %d years", YEARS_MAX);
}

int64_t
cron_jitter_s(const char *name, int64_t window_s)
{
  uint64_t hash = 14695981039346656037ULL; /* FNV-1a */
  for (const unsigned char *c = (const unsigned char *)name; *c; c++)
    hash = (hash ^ *c) * 1099511628211ULL;
  hash ^= hash >> 32; /* its low bits alone differ little between names that do */
  return window_s > 0 ? (int64_t)(hash % (uint64_t)window_s) : 0;
}
