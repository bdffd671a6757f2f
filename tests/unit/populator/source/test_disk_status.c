/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/disk_status.h"

#include "tests/unit/unit.h"

static void
check_find(const struct disk_status *status, uint64_t offset, bool found, uint64_t start,
           uint64_t end)
{
  uint64_t got_start = 0, got_end = 0;
  CU_ASSERT(disk_status_find(status, offset, &got_start, &got_end) == found);
  CHECK_NUMBER(got_start, start);
  if (found)
    CHECK_NUMBER(got_end, end);
}

static void
test_data_is_found_between_holes(void)
{
  struct disk_status status = {0};
  disk_status_begin(&status, 100);
  CU_ASSERT(disk_status_add(&status, 50, true, 1000));  /* 100 to 150 */
  CU_ASSERT(disk_status_add(&status, 50, false, 1000)); /* 150 to 200 */
  CU_ASSERT(disk_status_add(&status, 50, false, 1000)); /* 200 to 250: goes on */
  CU_ASSERT(disk_status_add(&status, 50, true, 1000));  /* 250 to 300 */
  CU_ASSERT(disk_status_add(&status, 10, false, 1000)); /* 300 to 310 */
  CU_ASSERT(disk_status_add(&status, 90, true, 1000));  /* 310 to 400 */
  CHECK_NUMBER(status.count, 2);
  check_find(&status, 100, true, 150, 250);
  check_find(&status, 150, true, 150, 250);
  check_find(&status, 249, true, 249, 250);
  check_find(&status, 250, true, 300, 310);
  check_find(&status, 309, true, 309, 310);
  check_find(&status, 310, false, 400, 0);
  CU_ASSERT_FALSE(disk_status_covers(&status, 99));
  CU_ASSERT(disk_status_covers(&status, 100) && disk_status_covers(&status, 399));
  CU_ASSERT_FALSE(disk_status_covers(&status, 400));
  disk_status_clear(&status);
}

static void
test_nothing_is_known_at_first(void)
{
  struct disk_status status = {0};
  CU_ASSERT_FALSE(disk_status_covers(&status, 0));
  disk_status_begin(&status, 7);
  CU_ASSERT_FALSE(disk_status_covers(&status, 7));
  check_find(&status, 7, false, 7, 0);
  disk_status_clear(&status);
}

static void
test_answers_beyond_the_question_are_cut(void)
{
  struct disk_status status = {0};
  disk_status_begin(&status, 0);
  CU_ASSERT(disk_status_add(&status, UINT32_MAX, false, 100));
  CHECK_NUMBER(status.end, 100);
  CU_ASSERT_FALSE(disk_status_add(&status, 1, true, 100));
  disk_status_begin(&status, UINT64_MAX - 10);
  CU_ASSERT(disk_status_add(&status, UINT32_MAX, false, UINT64_MAX));
  CU_ASSERT(status.end == UINT64_MAX);
  disk_status_clear(&status);
}

static void
test_empty_parts_end_an_answer(void)
{
  struct disk_status status = {0};
  disk_status_begin(&status, 0);
  CU_ASSERT_FALSE(disk_status_add(&status, 0, false, 100));
  CU_ASSERT_FALSE(disk_status_covers(&status, 0));
  disk_status_clear(&status);
}

static void
test_parts_are_bounded(void)
{
  struct disk_status status = {0};
  disk_status_begin(&status, 0);
  size_t taken = 0;
  while (disk_status_add(&status, 1, taken % 2 == 1, UINT64_MAX))
    taken++;
  CHECK_NUMBER(status.count, DISK_STATUS_PARTS_MAX);
  CHECK_NUMBER(taken, 2 * DISK_STATUS_PARTS_MAX);
  check_find(&status, taken - 2, true, taken - 2, taken - 1);
  disk_status_begin(&status, 5); /* the memory is used again */
  CU_ASSERT(disk_status_add(&status, 1, false, 10));
  CHECK_NUMBER(status.count, 1);
  disk_status_clear(&status);
}

UNIT_MAIN("populator/source/disk_status", UNIT_TEST(test_data_is_found_between_holes),
          UNIT_TEST(test_nothing_is_known_at_first),
          UNIT_TEST(test_answers_beyond_the_question_are_cut),
          UNIT_TEST(test_empty_parts_end_an_answer), UNIT_TEST(test_parts_are_bounded))
