/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/topology.h"

#include "tests/unit/unit.h"

static void
test_flags(void)
{
  struct string_map topology = {0};
  CHECK_NUMBER(topology_add(&topology, "topology.kubernetes.io/zone=a-1", NULL), 0);
  CHECK_NUMBER(topology_add(&topology, "rack=", NULL), 0);
  CHECK_STRING(string_map_get(&topology, "topology.kubernetes.io/zone"), "a-1");
  CHECK_STRING(string_map_get(&topology, "rack"), "");
  static const char *const bad[] = {"x", "=x", "a b=c", "a/b/c=d", "a=b c", "/x=y", "a=b/c"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(topology_add(&topology, bad[i], &err) == -1, bad[i]);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "KEY=VALUE");
  }
  CHECK_NUMBER(topology.count, 2);
  string_map_clear(&topology);
}

static void
test_labels_of_the_downward_api(void)
{
  struct string_map topology = {0};
  CHECK_NUMBER(topology_add_labels(&topology,
                                   "app=\"x\"\ntopology.kubernetes.io/region=\"r\"\n\n"
                                   "topology.kubernetes.io/zone=\"z\"",
                                   NULL),
               0);
  CHECK_NUMBER(topology.count, 2);
  CHECK_STRING(string_map_get(&topology, "topology.kubernetes.io/region"), "r");
  CHECK_STRING(string_map_get(&topology, "topology.kubernetes.io/zone"), "z");
  static const char *const bad[] = {"topology.x", "topology.x=y", "topology.x=\"",
                                    "topology.x=\"y"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(topology_add_labels(&topology, bad[i], &err) == -1, bad[i]);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "is not KEY=\"VALUE\"");
  }
  string_map_clear(&topology);
}

UNIT_MAIN("nodeplugin/topology", UNIT_TEST(test_flags), UNIT_TEST(test_labels_of_the_downward_api))
