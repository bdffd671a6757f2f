/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test program starts from: a list of tests becomes a main(), and checks that say
 * what they got.
 *
 * CUnit is not made for threads: checks belong into the thread of main(), others leave their
 * findings where it can look. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

struct unit_test {
  const char *name;
  void (*run)(void);
};

#define UNIT_TEST(function)                                                                        \
  {                                                                                                \
#function, function                                                                            \
  }

/* The exit status of main(). */
int unit_run(const char *suite, const struct unit_test *tests, size_t count);

#define UNIT_MAIN(suite, ...)                                                                      \
  int main(void)                                                                                   \
  {                                                                                                \
    static const struct unit_test tests[] = {__VA_ARGS__};                                         \
    return unit_run(suite, tests, sizeof(tests) / sizeof(tests[0]));                               \
  }

/* As CU_ASSERT_FATAL(): the test ends here when it does not hold. */
#define REQUIRE(condition) ((condition) ? (void)0 : unit_fail(#condition, __FILE__, __LINE__))
/* As CU_ASSERT(), and names the row of a table that it failed for. */
#define CHECK_ROW(condition, row) unit_check((condition), #condition, (row), __FILE__, __LINE__)
/* As CU_ASSERT_STRING_EQUAL(), but NULL is fine and both are shown. */
#define CHECK_STRING(actual, expected)                                                             \
  unit_check_string((actual), (expected), #actual, __FILE__, __LINE__)
#define CHECK_NUMBER(actual, expected)                                                             \
  unit_check_number((int64_t)(actual), (int64_t)(expected), #actual, __FILE__, __LINE__)
/* An error was set, with this code and with this text in its message. It is freed, so that *err can
 * be used again. */
#define CHECK_ERROR(err, code, text) unit_check_error((err), (code), (text), __FILE__, __LINE__)

void unit_fail(const char *condition, const char *file, unsigned line) __attribute__((noreturn));
void unit_check(bool holds, const char *condition, const char *row, const char *file,
                unsigned line);
void unit_check_string(const char *actual, const char *expected, const char *what, const char *file,
                       unsigned line);
void unit_check_number(int64_t actual, int64_t expected, const char *what, const char *file,
                       unsigned line);
void unit_check_error(struct error **err, enum error_code code, const char *text, const char *file,
                      unsigned line);

#endif
