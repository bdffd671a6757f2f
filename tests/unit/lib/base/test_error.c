/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/error.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

static void
test_set_formats_the_message(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CU_ASSERT_EQUAL(error_set(&err, ERROR_NOT_FOUND, "no volume '%s' in %d pools", "v1", 3), -1);
  REQUIRE(err);
  CHECK_NUMBER(err->code, ERROR_NOT_FOUND);
  CHECK_STRING(err->message, "no volume 'v1' in 3 pools");
}

static void
test_set_keeps_long_messages_whole(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  char longer[3000];
  memset(longer, 'x', sizeof(longer));
  longer[sizeof(longer) - 1] = '\0';
  (void)error_set(&err, ERROR_INTERNAL, "%s", longer);
  CHECK_STRING(err->message, longer);
}

static void
test_a_message_is_one_line_of_utf8(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  (void)error_set(&err, ERROR_INVALID_ARGUMENT, "not '%.4s': %s", "ab\xe2\x82\xac",
                  "first\nsecond");
  (void)error_wrap(&err, "volume '%.1s\n'", "\xc3\xa4");
  CHECK_STRING(err->message, "volume '? ': not 'ab?': first second");
}

static void
test_an_errno_message_is_one_line_of_utf8(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  (void)error_set_errno(&err, ENOENT, "open '%.1s'", "\xc3\xa4");
  CHECK_STRING(err->message, "open '?': No such file or directory");
}

static void
test_set_errno_takes_code_and_tail_from_errno(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CU_ASSERT_EQUAL(error_set_errno(&err, ENOENT, "open '%s'", "/x"), -1);
  REQUIRE(err);
  CHECK_NUMBER(err->code, ERROR_NOT_FOUND);
  CHECK_STRING(err->message, "open '/x': No such file or directory");
}

static void
test_set_errno_names_an_unknown_errno(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  (void)error_set_errno(&err, 9999, "do it");
  CHECK_ERROR(&err, ERROR_INTERNAL, "do it: Unknown error 9999");
}

static void
test_wrap_puts_the_place_in_front_and_keeps_the_code(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  (void)error_set(&err, ERROR_ABORTED, "busy");
  CU_ASSERT_EQUAL(error_wrap(&err, "open '%s'", "p/i"), -1);
  CU_ASSERT_EQUAL(error_wrap(&err, "stage 'v1'"), -1);
  CHECK_NUMBER(err->code, ERROR_ABORTED);
  CHECK_STRING(err->message, "stage 'v1': open 'p/i': busy");
}

static void
test_percent_in_a_message_stays_as_it_is(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  (void)error_set(&err, ERROR_INTERNAL, "%s", "100%s %n");
  (void)error_wrap(&err, "%s", "at 5%d");
  CHECK_STRING(err->message, "at 5%d: 100%s %n");
}

static void
test_a_caller_that_does_not_care_passes_null(void)
{
  CU_ASSERT_EQUAL(error_set(NULL, ERROR_INTERNAL, "x"), -1);
  CU_ASSERT_EQUAL(error_set_errno(NULL, EIO, "x"), -1);
  CU_ASSERT_EQUAL(error_wrap(NULL, "x"), -1);
}

static void
test_wrap_without_an_error_sets_none(void)
{
  struct error *err = NULL;
  CU_ASSERT_EQUAL(error_wrap(&err, "x"), -1);
  CU_ASSERT_PTR_NULL(err);
}

/* A set error that is set again would be lost: that is a broken promise of our own code. */
static void
test_setting_a_set_error_aborts(void)
{
  pid_t pid = fork();
  if (pid == 0) {
    (void)close(STDERR_FILENO);
    struct error *err = NULL;
    (void)error_set(&err, ERROR_INTERNAL, "first");
    (void)error_set(&err, ERROR_INTERNAL, "second");
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void
test_errno_values_have_codes(void)
{
  static const struct {
    int errno_value;
    enum error_code code;
  } rows[] = {
      {ENOENT, ERROR_NOT_FOUND},
      {EEXIST, ERROR_ALREADY_EXISTS},
      {EPERM, ERROR_PERMISSION_DENIED},
      {EACCES, ERROR_PERMISSION_DENIED},
      {EROFS, ERROR_PERMISSION_DENIED},
      {EINVAL, ERROR_INVALID_ARGUMENT},
      {ENAMETOOLONG, ERROR_INVALID_ARGUMENT},
      {ERANGE, ERROR_OUT_OF_RANGE},
      {EDOM, ERROR_OUT_OF_RANGE},
      {EFBIG, ERROR_OUT_OF_RANGE},
      {EBUSY, ERROR_FAILED_PRECONDITION},
      {ENOTEMPTY, ERROR_FAILED_PRECONDITION},
      {ENOSPC, ERROR_RESOURCE_EXHAUSTED},
      {EDQUOT, ERROR_RESOURCE_EXHAUSTED},
      {ENOMEM, ERROR_RESOURCE_EXHAUSTED},
      {EMFILE, ERROR_RESOURCE_EXHAUSTED},
      {ENFILE, ERROR_RESOURCE_EXHAUSTED},
      {ETIMEDOUT, ERROR_UNAVAILABLE},
      {ENOTCONN, ERROR_UNAVAILABLE},
      {ECONNREFUSED, ERROR_UNAVAILABLE},
      {ECONNRESET, ERROR_UNAVAILABLE},
      {ECONNABORTED, ERROR_UNAVAILABLE},
      {EHOSTUNREACH, ERROR_UNAVAILABLE},
      {ENETUNREACH, ERROR_UNAVAILABLE},
      {ESHUTDOWN, ERROR_UNAVAILABLE},
      {EAGAIN, ERROR_UNAVAILABLE},
      {EINTR, ERROR_UNAVAILABLE},
      {EOPNOTSUPP, ERROR_UNIMPLEMENTED},
      {ENOSYS, ERROR_UNIMPLEMENTED},
      {ECANCELED, ERROR_CANCELLED},
      {EIO, ERROR_INTERNAL},
      {EBADMSG, ERROR_INTERNAL},
      {0, ERROR_INTERNAL},
      {-ENOENT, ERROR_INTERNAL},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    CHECK_ROW(error_code_of_errno(rows[i].errno_value) == rows[i].code,
              rows[i].errno_value > 0 ? strerrorname_np(rows[i].errno_value) : "not an errno");
}

static void
test_code_names_are_those_of_grpc(void)
{
  CHECK_STRING(error_code_name(0), "OK");
  CHECK_STRING(error_code_name(ERROR_CANCELLED), "CANCELLED");
  CHECK_STRING(error_code_name(ERROR_UNKNOWN), "UNKNOWN");
  CHECK_STRING(error_code_name(ERROR_INVALID_ARGUMENT), "INVALID_ARGUMENT");
  CHECK_STRING(error_code_name(ERROR_DEADLINE_EXCEEDED), "DEADLINE_EXCEEDED");
  CHECK_STRING(error_code_name(ERROR_NOT_FOUND), "NOT_FOUND");
  CHECK_STRING(error_code_name(ERROR_ALREADY_EXISTS), "ALREADY_EXISTS");
  CHECK_STRING(error_code_name(ERROR_PERMISSION_DENIED), "PERMISSION_DENIED");
  CHECK_STRING(error_code_name(ERROR_RESOURCE_EXHAUSTED), "RESOURCE_EXHAUSTED");
  CHECK_STRING(error_code_name(ERROR_FAILED_PRECONDITION), "FAILED_PRECONDITION");
  CHECK_STRING(error_code_name(ERROR_ABORTED), "ABORTED");
  CHECK_STRING(error_code_name(ERROR_OUT_OF_RANGE), "OUT_OF_RANGE");
  CHECK_STRING(error_code_name(ERROR_UNIMPLEMENTED), "UNIMPLEMENTED");
  CHECK_STRING(error_code_name(ERROR_INTERNAL), "INTERNAL");
  CHECK_STRING(error_code_name(ERROR_UNAVAILABLE), "UNAVAILABLE");
  CHECK_STRING(error_code_name(ERROR_DATA_LOSS), "DATA_LOSS");
  CHECK_STRING(error_code_name(ERROR_UNAUTHENTICATED), "UNAUTHENTICATED");
  CHECK_STRING(error_code_name(-1), "UNKNOWN");
  CHECK_STRING(error_code_name(17), "UNKNOWN");
}

static void
test_free_accepts_null_and_half_built(void)
{
  error_free(NULL);
  error_free(calloc(1, sizeof(struct error)));
}

UNIT_MAIN("lib/base/error", UNIT_TEST(test_set_formats_the_message),
          UNIT_TEST(test_set_keeps_long_messages_whole),
          UNIT_TEST(test_a_message_is_one_line_of_utf8),
          UNIT_TEST(test_an_errno_message_is_one_line_of_utf8),
          UNIT_TEST(test_set_errno_takes_code_and_tail_from_errno),
          UNIT_TEST(test_set_errno_names_an_unknown_errno),
          UNIT_TEST(test_wrap_puts_the_place_in_front_and_keeps_the_code),
          UNIT_TEST(test_percent_in_a_message_stays_as_it_is),
          UNIT_TEST(test_a_caller_that_does_not_care_passes_null),
          UNIT_TEST(test_wrap_without_an_error_sets_none),
          UNIT_TEST(test_setting_a_set_error_aborts), UNIT_TEST(test_errno_values_have_codes),
          UNIT_TEST(test_code_names_are_those_of_grpc),
          UNIT_TEST(test_free_accepts_null_and_half_built))
