/* SPDX-License-Identifier: Apache-2.0 */
/* A time zone in the words of POSIX's TZ, "CET-1CEST,M3.5.0,M10.5.0/3": how a time zone file says
 * what holds from its last entry on. */
#ifndef LIB_BASE_ZONE_RULE_H
#define LIB_BASE_ZONE_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* The day and second at which the clocks change. */
struct zone_change {
  enum { ZONE_CHANGE_WEEK, ZONE_CHANGE_JULIAN, ZONE_CHANGE_ZERO_BASED } form;
  int month, week, weekday; /* of WEEK: week 5 is the last one */
  int day;                  /* of the others: 1 to 365 without 29 February, or 0 to 365 with it */
  int64_t second;           /* of that day by the clocks before; may be of another day */
};

struct zone_rule {
  int64_t standard_offset_s;
  bool has_summer;
  int64_t summer_offset_s;
  struct zone_change begin, end; /* of summer */
};

/* False when it is none. */
bool zone_rule_parse(const char *text, struct zone_rule *ret_rule);
int64_t zone_rule_offset_s(const struct zone_rule *rule, int64_t at_s);
/* The offset does not change between that moment and the result, which lies behind it. */
int64_t zone_rule_steady_until_s(const struct zone_rule *rule, int64_t at_s);

#endif
