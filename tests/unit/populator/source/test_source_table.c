/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/source.h"
#include "tests/unit/unit.h"

static const struct source_options options;

static void
check_refused(const char *url, enum error_code code, const char *text)
{
  struct source *source = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_ROW(source_open(url, &options, &source, &err) == -1, url);
  CHECK_ERROR(&err, code, text);
}

static void
test_an_unknown_scheme_lists_the_known_ones(void)
{
  check_refused("ftp://example.com/x", ERROR_INVALID_ARGUMENT, "'ftp:'");
  check_refused("gopher:x", ERROR_INVALID_ARGUMENT, "known are http:, https:, s3:, docker:");
  check_refused("name:with-colon", ERROR_INVALID_ARGUMENT, "'./' in front");
}

static void
test_everything_else_is_a_path(void)
{
  check_refused("/nowhere/x:y", ERROR_NOT_FOUND, "/nowhere/x:y");
  check_refused("./ftp:x", ERROR_NOT_FOUND, "./ftp:x");
  check_refused("c:x", ERROR_NOT_FOUND, "c:x");
  check_refused("", ERROR_NOT_FOUND, "open ''");
}

static void
test_schemes_are_found_in_any_case(void)
{
  check_refused("HTTP://127.0.0.1:1/x", ERROR_PERMISSION_DENIED, "loopback");
  check_refused("Https://127.0.0.1:1/x", ERROR_PERMISSION_DENIED, "loopback");
  check_refused("s3:bucket/key", ERROR_INVALID_ARGUMENT, "s3://BUCKET/KEY");
  check_refused("S3://bucket", ERROR_INVALID_ARGUMENT, "s3://BUCKET/KEY");
  check_refused("s3://bucket/", ERROR_INVALID_ARGUMENT, "s3://BUCKET/KEY");
  check_refused("s3:///key", ERROR_INVALID_ARGUMENT, "s3://BUCKET/KEY");
}

static void
test_closing_nothing_is_fine(void)
{
  source_close(NULL);
}

UNIT_MAIN("populator/source/source_table", UNIT_TEST(test_an_unknown_scheme_lists_the_known_ones),
          UNIT_TEST(test_everything_else_is_a_path), UNIT_TEST(test_schemes_are_found_in_any_case),
          UNIT_TEST(test_closing_nothing_is_fine))
