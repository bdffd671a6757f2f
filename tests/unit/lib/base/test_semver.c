/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/semver.h"

#include "tests/unit/unit.h"

static void
test_versions_are_told_from_other_tags(void)
{
  static const char *const versions[] = {"1.2.3",          "v1.2.3",  "40",        "22.04",
                                         "1.0.0-rc.1",     "1.0.0+5", "V2",        "1.2.3.4",
                                         "1.0.0-x.7.z.92", "40-1.14", "1.2-0a+b.c"};
  static const char *const others[] = {
      "",    "latest", "v",          "1.",     "1..2", ".1",        "1.2.3.4.5",
      "1.x", "1.2.3-", "1.2.3-a..b", "1.2.3+", "vv1",  "1.2.3-a_b", "sha256-abc.sig"};
  for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
    CU_ASSERT_TRUE(semver_is(versions[i]));
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
    CU_ASSERT_FALSE(semver_is(others[i]));
}

static int
sign(int value)
{
  return (value > 0) - (value < 0);
}

/* The order that semver.org gives, and numbers that are compared as such. */
static void
test_versions_have_their_order(void)
{
  static const char *const order[] = {"0.9",
                                      "1.0.0-alpha",
                                      "1.0.0-alpha.1",
                                      "1.0.0-alpha.beta",
                                      "1.0.0-beta",
                                      "1.0.0-beta.2",
                                      "1.0.0-beta.11",
                                      "1.0.0-rc.1",
                                      "v1.0.0",
                                      "1.0.1",
                                      "1.2",
                                      "1.10.0",
                                      "2",
                                      "2.0.0.1",
                                      "10",
                                      "99999999999999999999999",
                                      "100000000000000000000000"};
  size_t count = sizeof(order) / sizeof(order[0]);
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < count; j++)
      CU_ASSERT_EQUAL(sign(semver_compare(order[i], order[j])), sign((int)i - (int)j));
  }
  CU_ASSERT_EQUAL(semver_compare("1.2", "v1.2.0"), 0);
  CU_ASSERT_EQUAL(semver_compare("1.2.0+a", "1.2.0+b"), 0);
  CU_ASSERT_EQUAL(semver_compare("01.2", "1.02"), 0);
}

static void
test_the_highest_is_chosen(void)
{
  const char *const tags[] = {"latest", "33", "v9.1", "v34.0.1", "34.0.0", "devel", NULL};
  const char *const equal[] = {"1.2", "v1.2.0", "1.2.0", NULL};
  const char *const none[] = {"latest", "devel", NULL};
  const char *const early[] = {"1.9.0", "2.0.0-rc.1", NULL};
  const char *const earliest[] = {"2.0.0-rc.1", "2.0.0-rc.2", NULL};
  const char *const days[] = {"20240101", "1.10.2", "1.9.0", "20250101", NULL};
  const char *const numbers[] = {"39", "40", "41-rc1", NULL};
  CHECK_STRING(semver_highest(tags), "v34.0.1");
  CHECK_STRING(semver_highest(equal), "v1.2.0");
  CHECK_STRING(semver_highest(early), "1.9.0");
  CHECK_STRING(semver_highest(earliest), "2.0.0-rc.2");
  CHECK_STRING(semver_highest(days), "1.10.2");
  CHECK_STRING(semver_highest(numbers), "40");
  CU_ASSERT_PTR_NULL(semver_highest(none));
}

UNIT_MAIN("lib/base/semver", UNIT_TEST(test_versions_are_told_from_other_tags),
          UNIT_TEST(test_versions_have_their_order), UNIT_TEST(test_the_highest_is_chosen))
