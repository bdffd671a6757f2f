/* SPDX-License-Identifier: Apache-2.0 */
/* Values of command-line options. What is wrong with one is told with the option's name and with
 * what would be right. */
#ifndef LIB_BASE_OPTION_H
#define LIB_BASE_OPTION_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/log.h"

int option_number(const char *name, const char *value, uint64_t min, uint64_t max,
                  uint64_t *ret_number, struct error **err);
/* From a second to a day. */
int option_seconds(const char *name, const char *value, int64_t *ret_ms, struct error **err);
int option_log_level(const char *value, enum log_level *ret_level, struct error **err);
/* One that begins with "/": it means the same wherever the program was started. */
int option_path(const char *name, const char *value, const char **ret_path, struct error **err);

#endif
