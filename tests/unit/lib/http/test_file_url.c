/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/file_url.h"

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static void
test_the_path_that_is_meant(void)
{
  static const struct {
    const char *text;
    const char *path;
  } rows[] = {
      {"/a/b.img", "/a/b.img"},
      {"a%20b", "a%20b"}, /* a path, and no URL */
      {"-", "-"},
      {"file:///a/b.img", "/a/b.img"},
      {"file:///a%20b%25c", "/a b%c"},
      {"file://localhost/a", "/a"},
      {"FILE:/a", "/a"},
      {"file:a", "a"},
      {"files:a", "files:a"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(freep) char *path = NULL;
    CHECK_ROW(file_url_path(rows[i].text, &path, NULL) == 0, rows[i].text);
    CHECK_STRING(path, rows[i].path);
  }
}

static void
test_what_names_no_file(void)
{
  static const struct {
    const char *text;
    const char *said;
  } rows[] = {
      {"file:", "file:///PATH"},
      {"file://elsewhere/x", "another host"},
      {"file://localhostess/x", "another host"},
      {"file:///a%zz", "%25"},
      {"file:///a%00", "%25"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char *path = NULL;
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(file_url_path(rows[i].text, &path, &err) == -1, rows[i].text);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, rows[i].said);
  }
}

UNIT_MAIN("lib/http/file_url", UNIT_TEST(test_the_path_that_is_meant),
          UNIT_TEST(test_what_names_no_file))
