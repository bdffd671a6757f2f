/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/health.h"

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

#define OSDS "\"osdmap\": {\"num_osds\": 3, \"num_up_osds\": %d}"
#define DATA "\"pgmap\": {\"bytes_used\": 10, \"bytes_total\": 100}"
#define POOLS                                                                                      \
  "{\"pools\": [{\"pool_name\": \"vms\", \"size\": 3, \"application_metadata\": {\"rbd\": {}}},"   \
  "{\"pool_name\": \"files\", \"size\": 2, \"application_metadata\": {\"cephfs\": {}}}]}"

static struct health
health_of(const char *health, int osds_up)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep)
  char *status = xasprintf("{\"health\": %s, " OSDS ", " DATA "}", health, osds_up);
  struct health result = {0};
  REQUIRE(health_of_maps(status, POOLS, &result, &err) == 0);
  return result;
}

static void
test_a_cluster_that_is_well(void)
{
  struct health health = health_of("{\"status\": \"HEALTH_OK\", \"checks\": {}}", 3);
  CHECK_STRING(health.status, "HEALTH_OK");
  CHECK_STRING(health.checks, "");
  CU_ASSERT(health.is_serving);
  CHECK_NUMBER(health.osds, 3);
  CHECK_NUMBER(health.bytes_total, 100);
  CHECK_NUMBER(health.bytes_used, 10);
  CHECK_STRING(string_map_get(&health.pools, "vms"), "3");
  CU_ASSERT_PTR_NULL(string_map_get(&health.pools, "files"));
  health_clear(&health);
}

static void
test_what_stops_it(void)
{
  static const struct {
    const char *health;
    int osds_up;
    bool is_serving;
  } rows[] = {
      {"{\"status\": \"HEALTH_WARN\"}", 3, true},
      {"{\"status\": \"HEALTH_OK\"}", 0, false},
      {"{\"status\": \"HEALTH_ERR\"}", 3, false},
      {"{\"status\": \"HEALTH_WARN\", \"checks\": {\"OSD_DOWN\": {\"summary\": {\"message\": \"1 "
       "osds down\"}}}}",
       2, true},
      {"{\"status\": \"HEALTH_WARN\", \"checks\": {\"PG_AVAILABILITY\": {\"summary\": "
       "{\"message\": \"Reduced\"}}}}",
       2, false},
      {"{\"status\": \"HEALTH_WARN\", \"checks\": {\"POOL_FULL\": {}}}", 3, false},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct health health = health_of(rows[i].health, rows[i].osds_up);
    CHECK_ROW(health.is_serving == rows[i].is_serving, rows[i].health);
    health_clear(&health);
  }
}

static void
test_complaints_are_told(void)
{
  struct health health =
      health_of("{\"status\": \"HEALTH_WARN\", \"checks\": {\"A\": {\"summary\": {\"message\": "
                "\"one\"}}, \"B\": {\"summary\": {\"message\": \"two\"}}}}",
                3);
  CHECK_STRING(health.checks, "A: one; B: two");
  health_clear(&health);
}

static void
test_what_is_no_status(void)
{
  static const char *const bad[] = {"", "[]", "{}", "{\"health\": {}}", "x"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    struct health health;
    struct error *err = NULL;
    CHECK_ROW(health_of_maps(bad[i], POOLS, &health, &err) == -1, bad[i]);
    CHECK_ERROR(&err, ERROR_INTERNAL, "without health");
    CHECK_ROW(health_of_maps("{\"health\": {\"status\": \"HEALTH_OK\"}}", bad[i], &health, &err) ==
                  -1,
              bad[i]);
    CHECK_ERROR(&err, ERROR_INTERNAL, "without pools");
  }
}

UNIT_MAIN("lib/ceph/health", UNIT_TEST(test_a_cluster_that_is_well), UNIT_TEST(test_what_stops_it),
          UNIT_TEST(test_complaints_are_told), UNIT_TEST(test_what_is_no_status))
