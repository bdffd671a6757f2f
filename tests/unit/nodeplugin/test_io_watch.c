/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/io_watch.h"

#include <sys/sysmacros.h>

#include "tests/unit/unit.h"

static void
test_counters_of_the_kernel(void)
{
  uint64_t finished, waiting;
  CHECK_NUMBER(
      io_watch_parse("    7  0 56 1  3 0 24 2  5 3 9  2 0 8 0  4 1\n", &finished, &waiting), 0);
  CHECK_NUMBER(finished, 7 + 3 + 2 + 4);
  CHECK_NUMBER(waiting, 5);
  /* before discards and flushes were counted */
  CHECK_NUMBER(io_watch_parse("1 0 8 1 2 0 16 2 0 3 9", &finished, &waiting), 0);
  CHECK_NUMBER(finished, 3);
  CHECK_NUMBER(waiting, 0);
}

static void
test_what_is_not_a_line_of_them(void)
{
  static const char *const bad[] = {"",
                                    "\n",
                                    "1 2 3",
                                    "1 2 3 4 5 6 7 8",
                                    "a b c d e f g h i",
                                    "1 2 3 4 5 6 7 8 -9",
                                    "1 2 3 4 5 6 7 8 99999999999999999999999999"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    uint64_t finished, waiting;
    CHECK_ROW(io_watch_parse(bad[i], &finished, &waiting) == -1, bad[i]);
  }
}

static void
test_a_device_that_is_not_there_waits_for_nothing(void)
{
  struct io_watch *watch = io_watch_new();
  CHECK_NUMBER(io_watch_look(watch, makedev(4095, 1048575)), 0);
  io_watch_free(watch);
}

UNIT_MAIN("nodeplugin/io_watch", UNIT_TEST(test_counters_of_the_kernel),
          UNIT_TEST(test_what_is_not_a_line_of_them),
          UNIT_TEST(test_a_device_that_is_not_there_waits_for_nothing))
