/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/mapper_table.h"

#include "tests/unit/unit.h"

static void
test_options_of_each_mapper(void)
{
  static const char text[] = "krbd:queue_depth=64,lock_on_read;nbd:io-timeout=60;krbd:notrim";
  struct option_list options = {0};
  REQUIRE(mapper_parse_options(&krbd_mapper, false, text, &options, NULL) == 0);
  CHECK_NUMBER(options.count, 3);
  CHECK_STRING(option_list_find(&options, "queue_depth")->value, "64");
  CU_ASSERT_PTR_NULL(option_list_find(&options, "lock_on_read")->value);
  option_list_clear(&options);
  REQUIRE(mapper_parse_options(&nbd_mapper, false, text, &options, NULL) == 0);
  CHECK_NUMBER(options.count, 1);
  option_list_clear(&options);
  REQUIRE(mapper_parse_options(&fuse_mapper, false, text, &options, NULL) == 0);
  CHECK_NUMBER(options.count, 0);
  REQUIRE(mapper_parse_options(&krbd_mapper, false, "queue_depth=1", &options, NULL) == 0);
  CHECK_NUMBER(options.count, 1);
  option_list_clear(&options);
  static const struct mapper *const forced[] = {&krbd_mapper, &nbd_mapper, &fuse_mapper};
  for (size_t i = 0; i < sizeof(forced) / sizeof(forced[0]); i++) {
    REQUIRE(mapper_parse_options(forced[i], true, "force", &options, NULL) == 0);
    CHECK_NUMBER(options.count, 1);
    option_list_clear(&options);
  }
}

static void
test_options_that_are_refused(void)
{
  static const struct {
    const struct mapper *mapper;
    const char *text, *said;
  } rows[] = {
      {&krbd_mapper, "secret=AQ", "mapOptions of mapper krbd: 'secret' is not allowed"},
      {&krbd_mapper, "key=x", "'key' is not allowed"},
      {&krbd_mapper, "name=admin", "'name' is not allowed"},
      {&krbd_mapper, "ro", "'ro' is not allowed"},
      {&krbd_mapper, "mount_timeout=0", "the value '0' is not allowed"},
      {&krbd_mapper, "mount_timeout=00", "the value '00' is not allowed"},
      {&krbd_mapper, "mount_timeout=0x0", "the value '0x0' is not allowed"},
      {&krbd_mapper, "ms_mode=crc secret=x", "the value 'crc secret=x' is not allowed"},
      {&fuse_mapper, "krbd:key=x", "mapOptions of mapper krbd: 'key' is not allowed"},
      {&fuse_mapper, "queue_depth=1", "mapOptions of mapper fuse: 'queue_depth' is not allowed"},
      {&nbd_mapper, "device=/dev/nbd0", "'device' is not allowed"},
      {&nbd_mapper, "quiesce-hook=x", "'quiesce-hook' is not allowed"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct option_list options = {0};
    CHECK_ROW(mapper_parse_options(rows[i].mapper, false, rows[i].text, &options, &err) == -1,
              rows[i].text);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, rows[i].said);
  }
}

static void
test_mappers_by_name(void)
{
  CU_ASSERT_PTR_EQUAL(mapper_by_name("krbd"), &krbd_mapper);
  CU_ASSERT_PTR_EQUAL(mapper_by_name("nbd"), &nbd_mapper);
  CU_ASSERT_PTR_EQUAL(mapper_by_name("fuse"), &fuse_mapper);
  CU_ASSERT_PTR_NULL(mapper_by_name("auto"));
  CLEANUP(error_freep) struct error *err = NULL;
  const struct mapper_env env = {.run_dir = "/nonexistent"};
  const struct mapper_wish wish = {.name = "magic"};
  const struct mapper *mapper;
  char *why;
  CHECK_NUMBER(mapper_choose(&env, &wish, &mapper, &why, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "no mapper 'magic'");
}

UNIT_MAIN("nodeplugin/mapper_table", UNIT_TEST(test_options_of_each_mapper),
          UNIT_TEST(test_options_that_are_refused), UNIT_TEST(test_mappers_by_name))
