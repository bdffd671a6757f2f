/* SPDX-License-Identifier: Apache-2.0 */
/* Years are counted from March here, so that the day that comes and goes is the last of a year. */
#include "lib/base/calendar.h"

#define DAYS_OF_400_YEARS 146097
#define DAYS_TO_1970 719468 /* from 0000-03-01 */

static int64_t
floor_div(int64_t a, int64_t b)
{
  int64_t quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

int64_t
calendar_days_of(int64_t year, int month, int day)
{
  int64_t shifted = month <= 2 ? year - 1 : year;
  int64_t era = floor_div(shifted, 400);
  int64_t year_of_era = shifted - era * 400;
  int64_t month_from_march = (month + 9) % 12;
  int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
  int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * DAYS_OF_400_YEARS + day_of_era - DAYS_TO_1970;
}

struct calendar_date
calendar_date_of(int64_t days)
{
  int64_t shifted = days + DAYS_TO_1970;
  int64_t era = floor_div(shifted, DAYS_OF_400_YEARS);
  int64_t day_of_era = shifted - era * DAYS_OF_400_YEARS;
  int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int64_t month_from_march = (5 * day_of_year + 2) / 153;
  struct calendar_date date = {
      .month = (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9),
      .day = (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1),
  };
  date.year = era * 400 + year_of_era + (date.month <= 2);
  return date;
}

int
calendar_weekday(int64_t days)
{
  int64_t from_sunday = days + 4; /* 1970-01-01 was a Thursday */
  return (int)(from_sunday - floor_div(from_sunday, 7) * 7);
}

bool
calendar_is_leap_year(int64_t year)
{
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int
calendar_days_in_month(int64_t year, int month)
{
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && calendar_is_leap_year(year) ? 29 : days[month - 1];
}

int64_t
calendar_day_of_s(int64_t at_s)
{
  return floor_div(at_s, CALENDAR_DAY_S);
}

int64_t
calendar_second_of_day(int64_t at_s)
{
  return at_s - calendar_day_of_s(at_s) * CALENDAR_DAY_S;
}
