/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/sink/archive_name.h"

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static void
test_the_path_ends_at_the_first_colon(void)
{
  static const struct {
    const char *url;
    const char *path;
    const char *name;
  } table[] = {{"oci-archive:a.tar", "a.tar", NULL},
               {"oci-archive:/x/a.tar:12", "/x/a.tar", "12"},
               {"OCI-archive:a:vms/debian:12", "a", "vms/debian:12"}};
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
    CLEANUP(freep) char *path = NULL;
    const char *name = NULL;
    REQUIRE(archive_name_parse(table[i].url, &path, &name, NULL) == 0);
    CHECK_STRING(path, table[i].path);
    CHECK_STRING(name, table[i].name);
  }
}

static void
test_what_names_no_archive(void)
{
  static const char *const bad[] = {"oci-archive:", "oci-archive::12", "oci-archive:-",
                                    "oci-archive:a:", "oci-archive:a:b c"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(freep) char *path = NULL;
    const char *name;
    CHECK_ROW(archive_name_parse(bad[i], &path, &name, &err) == -1, bad[i]);
    CHECK_ROW(err && err->code == ERROR_INVALID_ARGUMENT, bad[i]);
  }
}

UNIT_MAIN("populator/sink/archive_name", UNIT_TEST(test_the_path_ends_at_the_first_colon),
          UNIT_TEST(test_what_names_no_archive))
