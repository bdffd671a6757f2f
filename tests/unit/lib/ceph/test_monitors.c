/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/monitors.h"

#include "tests/unit/unit.h"

static void
test_addresses_of_each_protocol(void)
{
  static const char map[] =
      "{\"mons\": [{\"public_addrs\": {\"addrvec\": [{\"type\": \"v2\", \"addr\": "
      "\"10.0.0.1:3300\"},"
      "{\"type\": \"v1\", \"addr\": \"10.0.0.1:6789\"}]}}, {\"name\": \"without\"},"
      "{\"public_addrs\": {\"addrvec\": [{\"type\": \"v2\", \"addr\": \"[fd00::2]:3300\"}]}}]}";
  CLEANUP(freep) char *v1 = NULL;
  CLEANUP(freep) char *v2 = NULL;
  REQUIRE(monitors_addresses_of_map(map, MONITOR_V1, &v1, NULL) == 0);
  REQUIRE(monitors_addresses_of_map(map, MONITOR_V2, &v2, NULL) == 0);
  CHECK_STRING(v1, "10.0.0.1:6789");
  CHECK_STRING(v2, "10.0.0.1:3300,[fd00::2]:3300");
}

static void
test_maps_that_say_nothing(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  char *none;
  CHECK_NUMBER(monitors_addresses_of_map("{\"mons\": []}", MONITOR_V1, &none, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "no monitor speaks protocol v1");
  static const char *const bad[] = {"", "[]", "{}", "{\"mons\": 1}", "x"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    CHECK_ROW(monitors_addresses_of_map(bad[i], MONITOR_V1, &none, &err) == -1, bad[i]);
    CHECK_ERROR(&err, ERROR_INTERNAL, "without monitors");
  }
}

UNIT_MAIN("lib/ceph/monitors", UNIT_TEST(test_addresses_of_each_protocol),
          UNIT_TEST(test_maps_that_say_nothing))
