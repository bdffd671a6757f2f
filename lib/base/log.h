/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines on stderr in logfmt: time, level, the request they belong to, message, fields.
 * Below the programs nothing logs above debug; an RPC is logged once, at its boundary.
 * A line is one write(2), so lines of several threads never mix; errno is kept. */
#ifndef LIB_BASE_LOG_H
#define LIB_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level);
/* "error", "warn", "info" or "debug"; -1 when it is none of them. */
int log_level_parse(const char *name, enum log_level *ret_level);
bool log_enabled(enum log_level level);

/* The request this thread works on; NULL when it is done. Not copied. */
void log_set_request(const char *request_id);

/* The message is what happened, in words. Quotes and control characters are escaped here. */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
