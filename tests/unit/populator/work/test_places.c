/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/work/places.h"

#include "tests/unit/unit.h"

static void
test_places_are_given_in_order(void)
{
  struct places places;
  struct place a = {.host = ""}, b = {.host = ""}, c = {.host = ""};
  places_init(&places, 1);
  places_queue(&places, &a);
  places_queue(&places, &b);
  places_queue(&places, &c);
  CU_ASSERT_TRUE(places_is_due(&places, &a));
  CU_ASSERT_FALSE(places_is_due(&places, &b));
  places_take(&a);
  CU_ASSERT_FALSE(places_is_due(&places, &b));
  places_leave(&places, &a);
  CU_ASSERT_FALSE(places_is_due(&places, &c));
  CU_ASSERT_TRUE(places_is_due(&places, &b));
  places_leave(&places, &b); /* it waits no more */
  CU_ASSERT_TRUE(places_is_due(&places, &c));
}

static void
test_one_host_leaves_one_of_them(void)
{
  struct places places;
  struct place hung[3] = {{.host = "hung"}, {.host = "hung"}, {.host = "hung"}};
  struct place other = {.host = "other"};
  places_init(&places, 3);
  for (size_t i = 0; i < 3; i++)
    places_queue(&places, &hung[i]);
  places_queue(&places, &other);
  places_take(&hung[0]);
  places_take(&hung[1]);
  CU_ASSERT_FALSE(places_is_due(&places, &hung[2]));
  CU_ASSERT_TRUE(places_is_due(&places, &other));
  places_leave(&places, &hung[0]);
  CU_ASSERT_TRUE(places_is_due(&places, &hung[2]));
  CU_ASSERT_FALSE(places_is_due(&places, &other));
}

static void
test_a_single_place_is_for_any_host(void)
{
  struct places places;
  struct place only = {.host = "host"};
  places_init(&places, 1);
  places_queue(&places, &only);
  CU_ASSERT_TRUE(places_is_due(&places, &only));
}

UNIT_MAIN("populator/work/places", UNIT_TEST(test_places_are_given_in_order),
          UNIT_TEST(test_one_host_leaves_one_of_them),
          UNIT_TEST(test_a_single_place_is_for_any_host))
