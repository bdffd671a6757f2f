/* SPDX-License-Identifier: Apache-2.0 */
/* Days of the Gregorian calendar counted from 1970-01-01, in whole numbers without limits that
 * matter. */
#ifndef LIB_BASE_CALENDAR_H
#define LIB_BASE_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#define CALENDAR_DAY_S 86400

struct calendar_date {
  int64_t year;
  int month; /* 1 to 12 */
  int day;   /* 1 to 31 */
};

struct calendar_date calendar_date_of(int64_t days);
int64_t calendar_days_of(int64_t year, int month, int day);
/* 0 is Sunday. */
int calendar_weekday(int64_t days);
int calendar_days_in_month(int64_t year, int month);
bool calendar_is_leap_year(int64_t year);

/* Whole days in seconds, rounded down; and what is left of the day. */
int64_t calendar_day_of_s(int64_t at_s);
int64_t calendar_second_of_day(int64_t at_s);

#endif
