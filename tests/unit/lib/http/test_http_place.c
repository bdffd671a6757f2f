/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_place.h"

#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "tests/unit/unit.h"

static void
test_a_place_is_known_for_its_file(void)
{
  struct http_place place;
  http_place_init(&place);
  bool is_trusted = true;
  CU_ASSERT_PTR_NULL(http_place_find(&place, "a", &is_trusted));
  http_place_keep(&place, "a", "b", false);
  CLEANUP(freep) char *to = http_place_find(&place, "a", &is_trusted);
  CHECK_STRING(to, "b");
  CU_ASSERT_FALSE(is_trusted);
  CU_ASSERT_PTR_NULL(http_place_find(&place, "b", &is_trusted));
  http_place_clear(&place);
}

static void
test_the_last_one_counts(void)
{
  struct http_place place;
  http_place_init(&place);
  bool is_trusted;
  http_place_keep(&place, "a", "b", false);
  http_place_keep(&place, "c", "d", true);
  CU_ASSERT_PTR_NULL(http_place_find(&place, "a", &is_trusted));
  CLEANUP(freep) char *to = http_place_find(&place, "c", &is_trusted);
  CHECK_STRING(to, "d");
  CU_ASSERT(is_trusted);
  http_place_clear(&place);
}

static void
test_only_the_one_that_failed_is_forgotten(void)
{
  struct http_place place;
  http_place_init(&place);
  bool is_trusted;
  http_place_forget(&place, "b");
  http_place_keep(&place, "a", "c", false);
  http_place_forget(&place, "b");
  CLEANUP(freep) char *to = http_place_find(&place, "a", &is_trusted);
  CHECK_STRING(to, "c");
  http_place_forget(&place, "c");
  CU_ASSERT_PTR_NULL(http_place_find(&place, "a", &is_trusted));
  http_place_clear(&place);
}

UNIT_MAIN("lib/http/http_place", UNIT_TEST(test_a_place_is_known_for_its_file),
          UNIT_TEST(test_the_last_one_counts),
          UNIT_TEST(test_only_the_one_that_failed_is_forgotten))
