/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/kernel_check.h"

#include "tests/unit/unit.h"

static void
test_this_kernel_has_all(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(kernel_check(&err), 0);
}

static void
test_what_is_missing_is_named(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(kernel_check_call(9999, "open_sesame", "99.9", &err), -1);
  CHECK_ERROR(&err, ERROR_FAILED_PRECONDITION, "has no open_sesame()");
}

UNIT_MAIN("nodeplugin/kernel_check", UNIT_TEST(test_this_kernel_has_all),
          UNIT_TEST(test_what_is_missing_is_named))
