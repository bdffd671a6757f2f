/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_stall.h"

#include "tests/unit/unit.h"

static void
test_silence_is_a_stall(void)
{
  struct http_stall stall;
  http_stall_init(&stall, 10);
  http_stall_resume(&stall, 1000);
  CU_ASSERT_FALSE(http_stall_tick(&stall, 5000, 0));
  CU_ASSERT_FALSE(http_stall_tick(&stall, 10999, 0));
  CU_ASSERT(http_stall_tick(&stall, 11000, 0));
}

static void
test_silence_counts_from_the_last_byte(void)
{
  struct http_stall stall;
  http_stall_init(&stall, 10);
  http_stall_resume(&stall, 0);
  CU_ASSERT_FALSE(http_stall_tick(&stall, 9000, 1000000));
  CU_ASSERT_FALSE(http_stall_tick(&stall, 18999, 1000000));
  CU_ASSERT(http_stall_tick(&stall, 19000, 1000000));
}

static void
test_a_trickle_is_a_stall(void)
{
  struct http_stall stall;
  http_stall_init(&stall, 10);
  http_stall_resume(&stall, 0);
  for (int64_t second = 1; second < 10; second++)
    CU_ASSERT_FALSE(http_stall_tick(&stall, second * 1000, (uint64_t)second * 1000));
  CU_ASSERT(http_stall_tick(&stall, 10000, 10000));
}

static void
test_a_slow_transfer_that_moves_is_none(void)
{
  struct http_stall stall;
  http_stall_init(&stall, 10);
  http_stall_resume(&stall, 0);
  for (int64_t second = 1; second < 100; second++)
    CU_ASSERT_FALSE(http_stall_tick(&stall, second * 1000, (uint64_t)second * 1024));
}

static void
test_the_time_between_two_reads_does_not_count(void)
{
  struct http_stall stall;
  http_stall_init(&stall, 10);
  int64_t now = 0;
  uint64_t moved = 0;
  for (int i = 0; i < 20; i++) {
    now += 60000;
    http_stall_resume(&stall, now);
    now += 100;
    moved += 1000;
    CU_ASSERT_FALSE(http_stall_tick(&stall, now, moved));
  }
  http_stall_resume(&stall, now + 60000);
  CU_ASSERT_FALSE(http_stall_tick(&stall, now + 69999, moved));
  CU_ASSERT(http_stall_tick(&stall, now + 70000, moved));
}

UNIT_MAIN("lib/http/http_stall", UNIT_TEST(test_silence_is_a_stall),
          UNIT_TEST(test_silence_counts_from_the_last_byte), UNIT_TEST(test_a_trickle_is_a_stall),
          UNIT_TEST(test_a_slow_transfer_that_moves_is_none),
          UNIT_TEST(test_the_time_between_two_reads_does_not_count))
