/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule. The next time of one that is taken is behind the moment, a whole minute, and fits the
 * fields; nothing that fits lies between. Its time zone may be any file's bytes: what follows a
 * line feed is one. */
#include <string.h>

#include "lib/base/calendar.h"
#include "lib/base/cron.h"
#include "lib/base/memory.h"
#include "tests/fuzz/fuzz.h"

#define MOMENT_S 1711839555 /* half an hour before the clocks of Europe go forward */
#define LOOK_BACK_MINUTES 3000

static bool
fits(const struct cron *cron, int64_t at_s)
{
  int64_t local_s = at_s + time_zone_offset_s(cron->zone, at_s);
  int64_t days = calendar_day_of_s(local_s);
  int64_t second = calendar_second_of_day(local_s);
  struct calendar_date date = calendar_date_of(days);
  bool is_day = cron->days >> date.day & 1;
  bool is_weekday = cron->weekdays >> calendar_weekday(days) & 1;
  bool is_either =
      cron->is_any_day || cron->is_any_weekday ? is_day && is_weekday : is_day || is_weekday;
  return is_either && (cron->months >> date.month & 1) && (cron->hours >> second / 3600 & 1) &&
         (cron->minutes >> second % 3600 / 60 & 1);
}

static void
check_next(const struct cron *cron)
{
  int64_t at_s;
  CLEANUP(error_freep) struct error *err = NULL;
  if (cron_next(cron, MOMENT_S, &at_s, &err) < 0) {
    CHECK(err->code == ERROR_NOT_FOUND);
    return;
  }
  CHECK(at_s > MOMENT_S && at_s % 60 == 0 && fits(cron, at_s));
  for (int64_t i = 1; i < LOOK_BACK_MINUTES && at_s - i * 60 > MOMENT_S; i++)
    CHECK(!fits(cron, at_s - i * 60));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const uint8_t *zone_file = memchr(data, '\n', size);
  size_t text_len = zone_file ? (size_t)(zone_file - data) : size;
  CLEANUP(freep) char *text = xstrndup((const char *)data, text_len);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(cron_clear) struct cron cron = {0};
  if (cron_parse(text, &cron, &err) < 0) {
    CHECK(err && *err->message);
    CHECK(err->code == ERROR_INVALID_ARGUMENT || err->code == ERROR_NOT_FOUND);
    return 0;
  }
  struct time_zone *zone = NULL;
  if (zone_file && time_zone_parse(zone_file + 1, size - text_len - 1, &zone, NULL) == 0) {
    time_zone_close(cron.zone);
    cron.zone = zone;
  }
  check_next(&cron);
  return 0;
}
