/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/ceph_error.h"

#include <errno.h>

#include "tests/unit/unit.h"

static void
test_errors_carry_advice_where_the_errno_says_too_little(void)
{
  static const struct {
    int errno_value;
    enum error_code code;
    const char *message;
  } rows[] = {
      {ESHUTDOWN, ERROR_UNAVAILABLE, "open 'p': this client was blocklisted by the cluster"},
      {ETIMEDOUT, ERROR_UNAVAILABLE, "open 'p': the cluster did not answer in time"},
      {EACCES, ERROR_PERMISSION_DENIED, "open 'p': the Ceph user lacks the right"},
      {EPERM, ERROR_PERMISSION_DENIED, "osd 'profile rbd' for this pool"},
      {ENOSPC, ERROR_RESOURCE_EXHAUSTED, "open 'p': the cluster or the pool is full"},
      {EDQUOT, ERROR_RESOURCE_EXHAUSTED, "ceph osd pool set-quota"},
      {EBUSY, ERROR_FAILED_PRECONDITION, "open 'p': it is in use by another client"},
      {EROFS, ERROR_PERMISSION_DENIED, "open 'p': another client holds the image's exclusive lock"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CU_ASSERT_EQUAL(ceph_error_set(&err, -rows[i].errno_value, "open '%s'", "p"), -1);
    CHECK_ERROR(&err, rows[i].code, rows[i].message);
  }
}

static void
test_other_errors_read_as_the_errno_does(void)
{
  static const struct {
    int errno_value;
    enum error_code code;
    const char *message;
  } rows[] = {
      {ENOENT, ERROR_NOT_FOUND, "open 'p': No such file or directory"},
      {EEXIST, ERROR_ALREADY_EXISTS, "open 'p': File exists"},
      {EIO, ERROR_INTERNAL, "open 'p': Input/output error"},
      {EBADMSG, ERROR_INTERNAL, "open 'p': Bad message"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CU_ASSERT_EQUAL(ceph_error_set(&err, -rows[i].errno_value, "open '%s'", "p"), -1);
    CHECK_ERROR(&err, rows[i].code, rows[i].message);
  }
}

static void
test_a_caller_that_does_not_care_passes_null(void)
{
  CU_ASSERT_EQUAL(ceph_error_set(NULL, -EBUSY, "x"), -1);
  CU_ASSERT_EQUAL(ceph_error_set(NULL, -EIO, "x"), -1);
}

UNIT_MAIN("lib/ceph/ceph_error",
          UNIT_TEST(test_errors_carry_advice_where_the_errno_says_too_little),
          UNIT_TEST(test_other_errors_read_as_the_errno_does),
          UNIT_TEST(test_a_caller_that_does_not_care_passes_null))
