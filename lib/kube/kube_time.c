/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/kube_time.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *
kube_time_text(time_t at, char buf[KUBE_TIME_BYTES])
{
  struct tm tm;
  (void)gmtime_r(&at, &tm);
  if (strftime(buf, KUBE_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
    buf[0] = '\0';
  return buf;
}

const char *
kube_time_now_micro(char buf[KUBE_TIME_BYTES])
{
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  char seconds[KUBE_TIME_BYTES];
  (void)kube_time_text(now.tv_sec, seconds);
  (void)snprintf(buf, KUBE_TIME_BYTES, "%.19s.%06ldZ", seconds, now.tv_nsec / 1000);
  return buf;
}

int
kube_time_parse(const char *text, time_t *ret_at)
{
  struct tm tm = {0};
  const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
  if (!rest)
    return -1;
  if (*rest == '.') {
    do
      rest++;
    while (isdigit((unsigned char)*rest));
  }
  if (strcmp(rest, "Z") != 0)
    return -1;
  *ret_at = timegm(&tm);
  return 0;
}
