/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/mkfs_options.h"

#include <string.h>

#include "tests/unit/unit.h"

static void
test_words_are_taken_as_they_are(void)
{
  struct mkfs_options options;
  REQUIRE(mkfs_options_parse("ext4", "  -m 0 -O ^has_journal,64bit  -E stride=16 -v", &options,
                             NULL) == 0);
  static const char *const words[] = {"-m", "0",         "-O", "^has_journal,64bit",
                                      "-E", "stride=16", "-v"};
  CHECK_NUMBER(options.count, 7);
  for (size_t i = 0; i < 7; i++)
    CHECK_STRING(options.words[i], words[i]);
  mkfs_options_clear(&options);
  REQUIRE(mkfs_options_parse("xfs", "-isize=1024 -K -m reflink=0,crc=1", &options, NULL) == 0);
  CHECK_NUMBER(options.count, 4);
  mkfs_options_clear(&options);
  REQUIRE(mkfs_options_parse("ext4", "", &options, NULL) == 0);
  CHECK_NUMBER(options.count, 0);
}

static void
test_what_reaches_the_host_is_refused(void)
{
  static const struct {
    const char *fs_type, *text, *said;
  } rows[] = {
      {"ext4", "-d /etc", "'-d' is not allowed"},
      {"ext4", "-d/etc", "'-d/etc' is not allowed"},
      {"ext4", "/dev/sda", "'/dev/sda' is not allowed"},
      {"ext4", "-m", "the value '' of '-m'"},
      {"ext4", "-m /x", "the value '/x' of '-m'"},
      {"ext4", "-vd", "'-vd' is not allowed"},
      {"ext4", "-", "'-' is not allowed"},
      {"ext4", "--", "'--' is not allowed"},
      {"xfs", "-p /etc/passwd", "'-p' is not allowed"},
      {"xfs", "-d name=x", "the value 'name=x'"},
      {"xfs", "-d file", "the value 'file'"},
      {"xfs", "-l logdev=x", "the value 'logdev=x'"},
      {"xfs", "-r rtdev=x", "'-r' is not allowed"},
      {"xfs", "-f", "'-f' is not allowed"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct mkfs_options options;
    CHECK_ROW(mkfs_options_parse(rows[i].fs_type, rows[i].text, &options, &err) == -1,
              rows[i].text);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, rows[i].said);
  }
}

static void
test_there_is_an_end(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct mkfs_options options;
  char text[MKFS_WORDS_MAX * 3 + 8];
  for (size_t i = 0; i < sizeof(text) - 1; i++)
    text[i] = "-v "[i % 3];
  text[sizeof(text) - 1] = '\0';
  CHECK_NUMBER(mkfs_options_parse("ext4", text, &options, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "more than 32 words");
}

UNIT_MAIN("nodeplugin/mkfs_options", UNIT_TEST(test_words_are_taken_as_they_are),
          UNIT_TEST(test_what_reaches_the_host_is_refused), UNIT_TEST(test_there_is_an_end))
