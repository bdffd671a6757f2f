/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zero.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
test_every_byte_counts(void)
{
  static char data[300];
  for (size_t len = 0; len <= sizeof(data); len++) {
    CU_ASSERT(zero_is_all(data, len));
    for (size_t i = 0; i < len; i++) {
      data[i] = 1;
      CU_ASSERT_FALSE(zero_is_all(data, len));
      data[i] = 0;
    }
    if (len < sizeof(data)) { /* what stands behind does not */
      data[len] = 1;
      CU_ASSERT(zero_is_all(data, len));
      data[len] = 0;
    }
  }
}

static void
test_runs_are_found(void)
{
  static const struct {
    const char *blocks; /* '.': zeros */
    size_t len;
    const char *runs;
  } rows[] = {
      {"", 0, ""},
      {".", 8, ""},
      {"....", 32, ""},
      {"x", 8, "0+8 "},
      {"xx", 16, "0+16 "},
      {".x", 16, "8+8 "},
      {"x.", 16, "0+8 "},
      {"x.x", 24, "0+8 16+8 "},
      {"..xx..x", 56, "16+16 48+8 "},
      {"x.x", 19, "0+8 16+3 "}, /* the last block is short */
      {"..x", 17, "16+1 "},
      {"x..", 17, "0+8 "},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char data[64] = {0}, found[128] = "";
    struct zero_run run;
    for (size_t j = 0; rows[i].blocks[j]; j++) {
      if (rows[i].blocks[j] == 'x')
        data[8 * j] = 1;
    }
    for (size_t at = 0; zero_next_run(data, rows[i].len, 8, at, &run); at = run.offset + run.len) {
      size_t end = strlen(found);
      (void)snprintf(found + end, sizeof(found) - end, "%zu+%zu ", run.offset, run.len);
    }
    CHECK_STRING(found, rows[i].runs);
  }
}

static void
test_runs_cover_all_that_is_not_zero(void)
{
  static char data[64 << 10], copy[64 << 10];
  struct zero_run run;
  srandom(1);
  for (unsigned round = 0; round < 50; round++) {
    memset(data, 0, sizeof(data));
    memset(copy, 0, sizeof(copy));
    for (unsigned i = 0; i < round; i++)
      data[(size_t)random() % sizeof(data)] = (char)random();
    for (size_t at = 0; zero_next_run(data, sizeof(data), 512, at, &run); at = run.offset + run.len)
      memcpy(copy + run.offset, data + run.offset, run.len);
    CU_ASSERT(memcmp(data, copy, sizeof(data)) == 0);
  }
}

UNIT_MAIN("populator/format/zero", UNIT_TEST(test_every_byte_counts),
          UNIT_TEST(test_runs_are_found), UNIT_TEST(test_runs_cover_all_that_is_not_zero))
