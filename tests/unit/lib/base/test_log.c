/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "tests/unit/capture.h"
#include "tests/unit/unit.h"

static char *
line_of(enum log_level level, const char *message)
{
  struct capture capture;
  capture_start(&capture);
  log_write(level, "%s", message);
  return capture_stop(&capture);
}

/* The line without its time. */
static const char *
behind_time(const char *line)
{
  const char *level = strstr(line, " level=");
  return level ? level + 1 : line;
}

static void
test_a_line_is_logfmt(void)
{
  CLEANUP(freep) char *line = line_of(LOG_LEVEL_INFO, "it works");
  regex_t form;
  const char *pattern = "^time=[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z "
                        "level=info msg=\"it works\"\n$";
  REQUIRE(regcomp(&form, pattern, REG_EXTENDED | REG_NOSUB) == 0);
  CHECK_ROW(regexec(&form, line, 0, NULL, 0) == 0, line);
  regfree(&form);
}

static void
test_what_would_break_a_line_is_escaped(void)
{
  static const struct {
    const char *message;
    const char *escaped;
  } rows[] = {
      {"say \"hi\"", "say \\\"hi\\\""},
      {"a\\b", "a\\\\b"},
      {"two\nlines", "two\\x0alines"},
      {"forged\" level=error msg=\"x", "forged\\\" level=error msg=\\\"x"},
      {"tab\there", "tab\\x09here"},
      {"\r", "\\x0d"},
      {"\x1b[31mred", "\\x1b[31mred"},
      {"\x01\x1f\x7f", "\\x01\\x1f\\x7f"},
      {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
      {"100%s", "100%s"},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(freep) char *line = line_of(LOG_LEVEL_ERROR, rows[i].message);
    CLEANUP(freep) char *expected = xasprintf("level=error msg=\"%s\"\n", rows[i].escaped);
    CHECK_STRING(behind_time(line), expected);
  }
}

static void
test_lines_below_the_level_are_left_out(void)
{
  static const char *const names[] = {"error", "warn", "info", "debug"};
  for (int set = LOG_LEVEL_ERROR; set <= LOG_LEVEL_DEBUG; set++) {
    log_set_level((enum log_level)set);
    for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++) {
      CLEANUP(freep) char *line = line_of((enum log_level)level, "x");
      CLEANUP(freep) char *expected = xasprintf("level=%s msg=\"x\"\n", names[level]);
      CHECK_STRING(behind_time(line), level <= set ? expected : "");
      CU_ASSERT_EQUAL(log_enabled((enum log_level)level), level <= set);
    }
  }
  log_set_level(LOG_LEVEL_INFO);
}

static void
test_levels_are_parsed_by_name(void)
{
  enum log_level level = LOG_LEVEL_INFO;
  CU_ASSERT(log_level_parse("error", &level) == 0 && level == LOG_LEVEL_ERROR);
  CU_ASSERT(log_level_parse("warn", &level) == 0 && level == LOG_LEVEL_WARN);
  CU_ASSERT(log_level_parse("info", &level) == 0 && level == LOG_LEVEL_INFO);
  CU_ASSERT(log_level_parse("debug", &level) == 0 && level == LOG_LEVEL_DEBUG);
  static const char *const bad[] = {"", "INFO", "warning", "debug ", "4", "inf", "infoo"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    CHECK_ROW(log_level_parse(bad[i], &level) == -1, bad[i]);
  CHECK_NUMBER(level, LOG_LEVEL_DEBUG);
}

static void *
log_from_another_thread(void *line)
{
  *(char **)line = line_of(LOG_LEVEL_INFO, "other");
  return NULL;
}

static void
test_the_request_is_that_of_the_thread(void)
{
  log_set_request("17");
  CLEANUP(freep) char *own = line_of(LOG_LEVEL_INFO, "own");
  CHECK_STRING(behind_time(own), "level=info request=17 msg=\"own\"\n");
  pthread_t thread;
  CLEANUP(freep) char *other = NULL;
  REQUIRE(pthread_create(&thread, NULL, log_from_another_thread, &other) == 0);
  (void)pthread_join(thread, NULL);
  CHECK_STRING(behind_time(other), "level=info msg=\"other\"\n");
  log_set_request(NULL);
  CLEANUP(freep) char *done = line_of(LOG_LEVEL_INFO, "done");
  CHECK_STRING(behind_time(done), "level=info msg=\"done\"\n");
}

static void
test_a_long_line_is_cut_and_stays_a_line(void)
{
  static const char fill[] = {'x', '"', '\n'};
  for (size_t i = 0; i < sizeof(fill); i++) {
    char message[20000];
    memset(message, fill[i], sizeof(message));
    message[sizeof(message) - 1] = '\0';
    CLEANUP(freep) char *line = line_of(LOG_LEVEL_INFO, message);
    size_t len = strlen(line);
    CU_ASSERT(len > 4000 && len <= 4096);
    CU_ASSERT(strcmp(line + len - 2, "\"\n") == 0);
    CU_ASSERT_PTR_EQUAL(strchr(line, '\n'), line + len - 1);
  }
}

static void
test_errno_is_kept(void)
{
  struct capture capture;
  capture_start(&capture);
  (void)dup2(STDOUT_FILENO, STDERR_FILENO);
  (void)close(STDERR_FILENO); /* so that write() fails and sets errno */
  errno = ENOSPC;
  log_error("nobody hears this");
  int kept = errno;
  free(capture_stop(&capture));
  CHECK_NUMBER(kept, ENOSPC);
}

enum { THREADS = 8, LINES = 200 };

static void *
log_many(void *letter)
{
  char message[201];
  memset(message, *(char *)letter, sizeof(message) - 1);
  message[sizeof(message) - 1] = '\0';
  for (int i = 0; i < LINES; i++)
    log_info("%s", message);
  return NULL;
}

/* Every line is of one letter only. */
static bool
is_unmixed(const char *line)
{
  const char *message = strstr(line, "msg=\"");
  if (!message || strlen(message) != strlen("msg=\"\"") + 200)
    return false;
  message += strlen("msg=\"");
  for (int i = 1; i < 200; i++) {
    if (message[i] != message[0])
      return false;
  }
  return true;
}

static void
test_lines_of_several_threads_do_not_mix(void)
{
  struct capture capture;
  capture_start(&capture);
  pthread_t threads[THREADS];
  char letters[THREADS];
  int started = 0;
  for (; started < THREADS; started++) {
    letters[started] = (char)('a' + started);
    if (pthread_create(&threads[started], NULL, log_many, &letters[started]) != 0)
      break;
  }
  for (int i = 0; i < started; i++)
    (void)pthread_join(threads[i], NULL);
  CLEANUP(freep) char *text = capture_stop(&capture);
  CHECK_NUMBER(started, THREADS);
  unsigned lines = 0, mixed = 0;
  char *rest = text;
  for (char *line; (line = strsep(&rest, "\n")) && *line;) {
    lines++;
    mixed += !is_unmixed(line);
  }
  CHECK_NUMBER(lines, THREADS * LINES);
  CHECK_NUMBER(mixed, 0);
}

UNIT_MAIN("lib/base/log", UNIT_TEST(test_a_line_is_logfmt),
          UNIT_TEST(test_what_would_break_a_line_is_escaped),
          UNIT_TEST(test_lines_below_the_level_are_left_out),
          UNIT_TEST(test_levels_are_parsed_by_name),
          UNIT_TEST(test_the_request_is_that_of_the_thread),
          UNIT_TEST(test_a_long_line_is_cut_and_stays_a_line), UNIT_TEST(test_errno_is_kept),
          UNIT_TEST(test_lines_of_several_threads_do_not_mix))
