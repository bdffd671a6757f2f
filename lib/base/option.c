/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/option.h"

#include "lib/base/text.h"

#define SECONDS_MAX 86400

int
option_number(const char *name, const char *value, uint64_t min, uint64_t max, uint64_t *ret_number,
              struct error **err)
{
  uint64_t number;
  if (text_to_u64(value, 10, &number) < 0 || number < min || number > max)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "--%s: a number from %llu to %llu is needed, not '%s'", name,
                     (unsigned long long)min, (unsigned long long)max, value);
  *ret_number = number;
  return 0;
}

int
option_seconds(const char *name, const char *value, int64_t *ret_ms, struct error **err)
{
  uint64_t seconds;
  if (option_number(name, value, 1, SECONDS_MAX, &seconds, err) < 0)
    return -1;
  *ret_ms = (int64_t)seconds * 1000;
  return 0;
}

int
option_log_level(const char *value, enum log_level *ret_level, struct error **err)
{
  return log_level_parse(value, ret_level) < 0
             ? error_set(err, ERROR_INVALID_ARGUMENT,
                         "--log-level: error, warn, info or debug, not '%s'", value)
             : 0;
}

int
option_path(const char *name, const char *value, const char **ret_path, struct error **err)
{
  if (*value != '/')
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "--%s: a path that begins with / is needed, not '%s'", name, value);
  *ret_path = value;
  return 0;
}
