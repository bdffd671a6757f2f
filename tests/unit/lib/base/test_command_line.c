/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/command_line.h"

#include "tests/unit/unit.h"

enum { OPTION_NAME = 1, OPTION_FLAG };

static const struct option options[] = {
    {"name", required_argument, NULL, OPTION_NAME},
    {"flag", no_argument, NULL, OPTION_FLAG},
    COMMAND_LINE_END,
};

struct target {
  const char *name;
  bool flag;
};

static int
take(int option, const char *value, void *target, struct error **err)
{
  struct target *taken = target;
  switch (option) {
  case OPTION_NAME:
    taken->name = value;
    return 0;
  case OPTION_FLAG:
    taken->flag = true;
    return 0;
  default:
    return error_set(err, ERROR_INVALID_ARGUMENT, "try --help");
  }
}

static int
read_words(const char *const *words, struct target *target, bool *ret_is_over, struct error **err)
{
  char *argv[8]; /* getopt may put them into another order, and leaves the words alone */
  static const struct command_line line = {
      .program = "program", .help = "How it is used.\n", .options = options, .take = take};
  int count = 0;
  for (; words[count]; count++)
    argv[count] = (char *)words[count];
  argv[count] = NULL;
  optind = 0; /* getopt begins anew */
  return command_line_read(&line, count, argv, target, ret_is_over, err);
}

static void
test_options_reach_the_program(void)
{
  struct target target = {0};
  bool is_over = true;
  const char *const words[] = {"program", "--name=x", "--flag", NULL};
  CU_ASSERT_EQUAL(read_words(words, &target, &is_over, NULL), 0);
  CU_ASSERT_FALSE(is_over);
  CHECK_STRING(target.name, "x");
  CU_ASSERT_TRUE(target.flag);
}

static void
test_help_and_version_end_it(void)
{
  struct target target = {0};
  const char *const lists[][4] = {{"program", "--help", "--flag", NULL},
                                  {"program", "--version", NULL}};
  for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
    bool is_over = false;
    CU_ASSERT_EQUAL(read_words(lists[i], &target, &is_over, NULL), 0);
    CU_ASSERT_TRUE(is_over);
    CU_ASSERT_FALSE(target.flag);
  }
}

static void
test_what_is_not_an_option_is_refused(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct target target = {0};
  bool is_over;
  const char *const words[] = {"program", "--flag", "file", NULL};
  CU_ASSERT_EQUAL(read_words(words, &target, &is_over, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "unexpected argument 'file'");
}

UNIT_MAIN("lib/base/command_line", UNIT_TEST(test_options_reach_the_program),
          UNIT_TEST(test_help_and_version_end_it), UNIT_TEST(test_what_is_not_an_option_is_refused))
