/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A longer line is cut: a log line must not become a way to fill a disk. */
#define LINE_MAX_BYTES 4096

static atomic_int current_level = LOG_LEVEL_INFO;
static _Thread_local const char *current_request;
static const char *const level_names[] = {"error", "warn", "info", "debug"};

void
log_set_level(enum log_level level)
{
  atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

int
log_level_parse(const char *name, enum log_level *ret_level)
{
  for (int i = 0; i <= LOG_LEVEL_DEBUG; i++) {
    if (strcmp(name, level_names[i]) == 0) {
      *ret_level = (enum log_level)i;
      return 0;
    }
  }
  return -1;
}

bool
log_enabled(enum log_level level)
{
  return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

void
log_set_request(const char *request_id)
{
  current_request = request_id;
}

/* Appends s to line with quotes, backslashes and control characters escaped; returns the new
 * length. */
static size_t
append_escaped(char *line, size_t len, const char *s)
{
  for (; *s && len < LINE_MAX_BYTES - 8; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') {
      line[len++] = '\\';
      line[len++] = (char)c;
    } else if (c < 0x20 || c == 0x7f) {
      len += (size_t)snprintf(line + len, 5, "\\x%02x", c);
    } else {
      line[len++] = (char)c;
    }
  }
  return len;
}

static size_t
append_prefix(char *line, enum log_level level)
{
  struct timespec now;
  struct tm tm;
  clock_gettime(CLOCK_REALTIME, &now);
  gmtime_r(&now.tv_sec, &tm);
  size_t len = strftime(line, LINE_MAX_BYTES, "time=%Y-%m-%dT%H:%M:%S", &tm);
  len += (size_t)snprintf(line + len, LINE_MAX_BYTES - len, ".%03ldZ level=%s",
                          now.tv_nsec / 1000000, level_names[level]);
  if (current_request)
    len += (size_t)snprintf(line + len, LINE_MAX_BYTES - len, " request=%s", current_request);
  return len;
}

void
log_write(enum log_level level, const char *format, ...)
{
  if (!log_enabled(level))
    return;
  int saved_errno = errno;
  char text[LINE_MAX_BYTES];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);

  char line[LINE_MAX_BYTES];
  size_t len = append_prefix(line, level);
  len += (size_t)snprintf(line + len, sizeof(line) - len, " msg=\"");
  len = append_escaped(line, len, text);
  line[len++] = '"';
  line[len++] = '\n';
  if (write(STDERR_FILENO, line, len) < 0) {
    /* Nowhere left to complain to. */
  }
  errno = saved_errno;
}
