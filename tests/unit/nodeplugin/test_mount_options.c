/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/mount_options.h"

#include <string.h>
#include <sys/mount.h>

#include "tests/unit/unit.h"

static void
test_options_go_where_they_belong(void)
{
  char first[] = "noatime,commit=30", second[] = "ro,nosuid,discard,commit=5", third[] = "";
  char *flags[] = {first, second, third};
  struct mount_options options;
  REQUIRE(mount_options_parse("ext4", flags, 3, "noload", &options, NULL) == 0);
  CHECK_NUMBER(options.attributes, MOUNT_ATTR_NOATIME | MOUNT_ATTR_NOSUID);
  CHECK_NUMBER(options.cleared, MOUNT_ATTR__ATIME);
  CHECK_NUMBER(options.filesystem.count, 5);
  CHECK_STRING(option_list_find(&options.filesystem, "commit")->value, "5");
  CU_ASSERT_PTR_NOT_NULL(option_list_find(&options.filesystem, "ro"));
  CU_ASSERT_PTR_NOT_NULL(option_list_find(&options.filesystem, "discard"));
  CU_ASSERT_PTR_NOT_NULL(option_list_find(&options.filesystem, "noload"));
  CU_ASSERT_PTR_NULL(option_list_find(&options.filesystem, "nosuid"));
  mount_options_clear(&options);
}

static void
test_the_superblock_does_not_say_what_errors_do(void)
{
  char flag[] = "errors=continue";
  char *flags[] = {flag};
  struct mount_options options;
  REQUIRE(mount_options_parse("ext4", NULL, 0, "", &options, NULL) == 0);
  CHECK_STRING(option_list_find(&options.filesystem, "errors")->value, "remount-ro");
  mount_options_clear(&options);
  REQUIRE(mount_options_parse("ext4", flags, 1, "", &options, NULL) == 0);
  CHECK_STRING(option_list_find(&options.filesystem, "errors")->value, "continue");
  mount_options_clear(&options);
  REQUIRE(mount_options_parse("xfs", NULL, 0, "", &options, NULL) == 0);
  CHECK_NUMBER(options.filesystem.count, 0);
  mount_options_clear(&options);
}

static void
test_the_last_atime_counts(void)
{
  char flag[] = "noatime,strictatime,nodiratime";
  char *flags[] = {flag};
  struct mount_options options;
  REQUIRE(mount_options_parse("xfs", flags, 1, "", &options, NULL) == 0);
  CHECK_NUMBER(options.attributes, MOUNT_ATTR_STRICTATIME | MOUNT_ATTR_NODIRATIME);
  mount_options_clear(&options);
}

static void
test_what_is_not_on_the_list_is_refused(void)
{
  static const struct {
    const char *fs_type;
    char flag[40];
    const char *said;
  } rows[] = {
      {"ext4", "errors=panic", "'errors': the value 'panic' is not allowed"},
      {"ext4", "bind", "'bind' is not allowed"},
      {"ext4", "noatime,remount", "'remount' is not allowed"},
      {"ext4", "logdev=/dev/sda", "'logdev' is not allowed"},
      {"xfs", "logbsize=/dev/sda", "the value '/dev/sda' is not allowed"},
      {"xfs", "data=journal", "'data' is not allowed"},
      {"ext4", "noatime=1", "'noatime' takes no value"},
      {"ext4", "commit", "'commit' needs a value"},
      {"ext4", "commit=", "the value '' is not allowed"},
      {"ext4", "=x", "'' is not allowed"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct mount_options options;
    char flag[sizeof(rows[i].flag)];
    memcpy(flag, rows[i].flag, sizeof(flag));
    char *flags[] = {flag};
    CHECK_ROW(mount_options_parse(rows[i].fs_type, flags, 1, "", &options, &err) == -1,
              rows[i].flag);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, rows[i].said);
  }
}

UNIT_MAIN("nodeplugin/mount_options", UNIT_TEST(test_options_go_where_they_belong),
          UNIT_TEST(test_the_superblock_does_not_say_what_errors_do),
          UNIT_TEST(test_the_last_atime_counts), UNIT_TEST(test_what_is_not_on_the_list_is_refused))
