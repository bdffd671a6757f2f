/* SPDX-License-Identifier: Apache-2.0 */
/* What the clocks of a place show, by the system's time zone files. The C library knows one zone a
 * process, chosen by an environment variable; schedules name one each. */
#ifndef LIB_BASE_TIME_ZONE_H
#define LIB_BASE_TIME_ZONE_H

#include <stdint.h>

#include "lib/base/error.h"

struct time_zone;

/* "Europe/Berlin"; NULL, "" and "UTC" need no file. NOT_FOUND when there is no such zone,
 * INVALID_ARGUMENT when that is no name of one or its file is damaged. */
int time_zone_open(const char *name, struct time_zone **ret_zone, struct error **err);
void time_zone_close(struct time_zone *zone);
DEFINE_CLEANUP(struct time_zone *, time_zone_close)

/* Seconds that local time is ahead of UTC at that moment. zone may be NULL: UTC. */
int64_t time_zone_offset_s(const struct time_zone *zone, int64_t at_s);
/* Until when that is so for sure: the offset does not change before. INT64_MAX: never. */
int64_t time_zone_steady_until_s(const struct time_zone *zone, int64_t at_s);

/* The same of the bytes of a file, for time_zone_open() and tests. Nothing of them is kept. */
int time_zone_parse(const void *data, size_t len, struct time_zone **ret_zone, struct error **err);

#endif
