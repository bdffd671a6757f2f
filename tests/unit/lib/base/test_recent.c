/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/recent.h"

#include <time.h>

#include "tests/unit/unit.h"

#define LONG_MS 600000

static void
test_a_text_is_new_once(void)
{
  CLEANUP(recent_freep) struct recent *recent = recent_new(4, LONG_MS);
  CU_ASSERT_TRUE(recent_left_ms(recent, "a") == 0);
  CU_ASSERT_TRUE(recent_add(recent, "a"));
  CU_ASSERT_FALSE(recent_add(recent, "a"));
  CU_ASSERT_TRUE(recent_add(recent, "b"));
  int64_t left_ms = recent_left_ms(recent, "a");
  CU_ASSERT_TRUE(left_ms > LONG_MS / 2 && left_ms <= LONG_MS);
}

static void
test_it_is_forgotten_in_time(void)
{
  CLEANUP(recent_freep) struct recent *recent = recent_new(4, 5);
  CU_ASSERT_TRUE(recent_add(recent, "a"));
  const struct timespec span = {.tv_nsec = 20000000};
  (void)nanosleep(&span, NULL);
  CU_ASSERT_TRUE(recent_left_ms(recent, "a") == 0);
  CU_ASSERT_TRUE(recent_add(recent, "a"));
}

static void
test_it_is_forgotten_on_demand(void)
{
  CLEANUP(recent_freep) struct recent *recent = recent_new(4, LONG_MS);
  CU_ASSERT_TRUE(recent_add(recent, "a"));
  recent_drop(recent, "a");
  recent_drop(recent, "never added");
  CU_ASSERT_TRUE(recent_left_ms(recent, "a") == 0);
  CU_ASSERT_TRUE(recent_add(recent, "a"));
}

static void
test_of_too_many_the_oldest_is_forgotten(void)
{
  CLEANUP(recent_freep) struct recent *recent = recent_new(2, LONG_MS);
  CU_ASSERT_TRUE(recent_add(recent, "a"));
  CU_ASSERT_TRUE(recent_add(recent, "b"));
  CU_ASSERT_TRUE(recent_add(recent, "c"));
  CU_ASSERT_TRUE(recent_left_ms(recent, "a") == 0);
  CU_ASSERT_TRUE(recent_left_ms(recent, "b") > 0);
  CU_ASSERT_TRUE(recent_left_ms(recent, "c") > 0);
}

UNIT_MAIN("lib/base/recent", UNIT_TEST(test_a_text_is_new_once),
          UNIT_TEST(test_it_is_forgotten_in_time), UNIT_TEST(test_it_is_forgotten_on_demand),
          UNIT_TEST(test_of_too_many_the_oldest_is_forgotten))
