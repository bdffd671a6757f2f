/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include <CUnit/Basic.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

int
unit_run(const char *suite, const struct unit_test *tests, size_t count)
{
  (void)setvbuf(stdout, NULL, _IOLBF, 0);
  if (CU_initialize_registry() != CUE_SUCCESS)
    return 1;
  CU_pSuite added = CU_add_suite(suite, NULL, NULL);
  bool is_complete = added != NULL;
  for (size_t i = 0; is_complete && i < count; i++)
    is_complete = CU_add_test(added, tests[i].name, tests[i].run) != NULL;
  if (is_complete) {
    CU_basic_set_mode(CU_BRM_VERBOSE);
    is_complete = CU_basic_run_tests() == CUE_SUCCESS;
  }
  bool has_passed =
      is_complete && CU_get_number_of_failures() == 0 && CU_get_number_of_tests_run() == count;
  CU_cleanup_registry();
  return has_passed ? 0 : 1;
}

void
unit_fail(const char *condition, const char *file, unsigned line)
{
  (void)CU_assertImplementation(CU_FALSE, line, condition, file, "", CU_TRUE);
  abort(); /* CUnit has jumped out of the test */
}

void
unit_check(bool holds, const char *condition, const char *row, const char *file, unsigned line)
{
  CLEANUP(freep) char *text = xasprintf("%s, for '%s'", condition, row);
  (void)CU_assertImplementation(holds, line, text, file, "", CU_FALSE);
}

void
unit_check_string(const char *actual, const char *expected, const char *what, const char *file,
                  unsigned line)
{
  bool holds = actual && expected ? strcmp(actual, expected) == 0 : actual == expected;
  CLEANUP(freep)
  char *text = xasprintf("%s is '%s', expected '%s'", what, actual ? actual : "(none)",
                         expected ? expected : "(none)");
  (void)CU_assertImplementation(holds, line, text, file, "", CU_FALSE);
}

void
unit_check_number(int64_t actual, int64_t expected, const char *what, const char *file,
                  unsigned line)
{
  CLEANUP(freep)
  char *text = xasprintf("%s is %" PRId64 ", expected %" PRId64, what, actual, expected);
  (void)CU_assertImplementation(actual == expected, line, text, file, "", CU_FALSE);
}

void
unit_check_error(struct error **err, enum error_code code, const char *text, const char *file,
                 unsigned line)
{
  bool holds = *err && (*err)->code == code && strstr((*err)->message, text);
  CLEANUP(freep)
  char *found = *err ? xasprintf("%s '%s'", error_code_name((int)(*err)->code), (*err)->message)
                     : xstrdup("no error");
  CLEANUP(freep)
  char *condition =
      xasprintf("got %s, expected %s with '%s'", found, error_code_name((int)code), text);
  (void)CU_assertImplementation(holds, line, condition, file, "", CU_FALSE);
  error_free(*err);
  *err = NULL;
}
