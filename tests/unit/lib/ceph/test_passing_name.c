/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/passing_name.h"

#include "lib/base/cleanup.h"
#include "tests/unit/unit.h"

static void
test_a_name_is_readable(void)
{
  CLEANUP(freep) char *name = passing_name_make(4711, 3);
  CHECK_STRING(name, "imprint.t.4711.3");
}

static void
test_a_name_tells_its_client(void)
{
  static const uint64_t clients[] = {0, 4711, UINT64_MAX};
  for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
    CLEANUP(freep) char *name = passing_name_make(clients[i], UINT64_MAX);
    uint64_t client = 42;
    CU_ASSERT(passing_name_client(name, &client));
    CU_ASSERT(client == clients[i]);
  }
}

static void
test_other_names_have_no_client(void)
{
  static const char *const names[] = {"",
                                      "imprint.t",
                                      "imprint.t.",
                                      "imprint.t..3",
                                      "imprint.t.x.3",
                                      "imprint.t.-1.3",
                                      "imprint.t.18446744073709551616.3",
                                      "imprint.s.4711.3",
                                      "mine"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    uint64_t client = 42;
    CHECK_ROW(!passing_name_client(names[i], &client), names[i]);
    CHECK_NUMBER(client, 42);
  }
}

UNIT_MAIN("lib/ceph/passing_name", UNIT_TEST(test_a_name_is_readable),
          UNIT_TEST(test_a_name_tells_its_client), UNIT_TEST(test_other_names_have_no_client))
