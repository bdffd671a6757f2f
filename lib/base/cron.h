/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules as cron has them: "MINUTE HOUR DAY MONTH WEEKDAY".
 *
 * A field is a list of values, names (jan, mon), ranges ("1-5"), all ("*" or "?"), each of them
 * with a step ("0-30/10", "5/10" for 5-59/10). Weekday 7 is Sunday, as 0 is. When both the day and
 * the weekday are restricted, either is enough. @yearly (@annually), @monthly, @weekly, @daily
 * (@midnight) and @hourly stand for what they say. "CRON_TZ=Europe/Berlin " (or "TZ=") in front
 * names the time zone; without it, it is UTC.
 *
 * Where the clocks go forward, times that do not exist are skipped; where they go back, times that
 * come twice count twice. */
#ifndef LIB_BASE_CRON_H
#define LIB_BASE_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/time_zone.h"

struct cron {
  uint64_t minutes; /* a bit for each value */
  uint64_t hours;
  uint64_t days;
  uint64_t months;
  uint64_t weekdays;
  bool is_any_day; /* the field leaves it open */
  bool is_any_weekday;
  struct time_zone *zone; /* NULL: UTC */
};

/* INVALID_ARGUMENT names the field and what is wrong with it; NOT_FOUND an unknown time zone. */
int cron_parse(const char *text, struct cron *ret_cron, struct error **err);
void cron_clear(struct cron *cron);

/* The first time behind that moment; both are seconds since 1970 in UTC. NOT_FOUND when there is
 * none in the next ten years: "0 0 30 2 *". */
int cron_next(const struct cron *cron, int64_t after_s, int64_t *ret_at_s, struct error **err);

/* A number below `window_s` that depends on the name alone: who waits so long behind the appointed
 * time does not meet others who do the same. 0 for a window of 0. */
int64_t cron_jitter_s(const char *name, int64_t window_s);

#endif
