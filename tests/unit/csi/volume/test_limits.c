/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/limits.h"

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static void
test_every_limit_becomes_metadata(void)
{
  static const char *const names[] = {
      "rbd_qos_iops_limit",       "rbd_qos_iops_burst",       "rbd_qos_iops_burst_seconds",
      "rbd_qos_bps_limit",        "rbd_qos_bps_burst",        "rbd_qos_bps_burst_seconds",
      "rbd_qos_read_iops_limit",  "rbd_qos_read_iops_burst",  "rbd_qos_read_iops_burst_seconds",
      "rbd_qos_read_bps_limit",   "rbd_qos_read_bps_burst",   "rbd_qos_read_bps_burst_seconds",
      "rbd_qos_write_iops_limit", "rbd_qos_write_iops_burst", "rbd_qos_write_iops_burst_seconds",
      "rbd_qos_write_bps_limit",  "rbd_qos_write_bps_burst",  "rbd_qos_write_bps_burst_seconds",
  };
  enum { NAMES = sizeof(names) / sizeof(names[0]) };
  struct string_map given = {0}, metadata = {0};
  for (size_t i = 0; i < NAMES; i++)
    string_map_set(&given, names[i], "7");
  CU_ASSERT_EQUAL(limits_parse(&given, &metadata, NULL), 0);
  CHECK_NUMBER(metadata.count, NAMES);
  for (size_t i = 0; i < NAMES; i++) {
    CLEANUP(freep) char *key = xasprintf("conf_%s", names[i]);
    CHECK_STRING(string_map_get(&metadata, key), "7");
  }
  string_map_clear(&given);
  string_map_clear(&metadata);
}

static void
test_values_are_written_as_plain_numbers(void)
{
  static const char *const rows[][2] = {
      {"0", "0"},     {"500", "500"},         {"007", "7"},
      {"1k", "1000"}, {"100Mi", "104857600"}, {"18446744073709551615", "18446744073709551615"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct string_map given = {0}, metadata = {0};
    string_map_set(&given, "rbd_qos_bps_limit", rows[i][0]);
    CHECK_ROW(limits_parse(&given, &metadata, NULL) == 0, rows[i][0]);
    CHECK_STRING(string_map_get(&metadata, "conf_rbd_qos_bps_limit"), rows[i][1]);
    string_map_clear(&given);
    string_map_clear(&metadata);
  }
}

static void
check_refused(const char *name, const char *value, const char *message)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct string_map given = {0}, metadata = {0};
  string_map_set(&given, name, value);
  CHECK_ROW(limits_parse(&given, &metadata, &err) == -1, name);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, message);
  CHECK_NUMBER(metadata.count, 0);
  string_map_clear(&given);
  string_map_clear(&metadata);
}

static void
test_unknown_limits_are_refused_by_name(void)
{
  static const char *const names[] = {"",
                                      "rbd_qos_",
                                      "iops_limit",
                                      "rbd_qos_iops",
                                      "rbd_qos_limit",
                                      "rbd_qos_iops_limits",
                                      "RBD_qos_iops_limit",
                                      "rbd_qos_discard_iops_limit",
                                      "rbd_cache",
                                      "conf_rbd_qos_iops_limit",
                                      "rbd_qos_schedule_tick_min"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    CLEANUP(freep) char *message = xasprintf("mutable parameter '%s' is not known", names[i]);
    check_refused(names[i], "1", message);
  }
}

static void
test_bad_values_are_refused_by_name(void)
{
  static const char *const values[] = {
      "", "-1", "1.5", "many", "1 ", "0x1", "18446744073709551616"};
  for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
    check_refused("rbd_qos_iops_limit", values[i],
                  "mutable parameter 'rbd_qos_iops_limit': a whole number is needed");
}

static void
test_nothing_given_changes_nothing(void)
{
  struct string_map given = {0}, metadata = {0};
  string_map_set(&metadata, "conf_rbd_qos_iops_limit", "5");
  CU_ASSERT_EQUAL(limits_parse(&given, &metadata, NULL), 0);
  CHECK_NUMBER(metadata.count, 1);
  string_map_set(&given, "rbd_qos_iops_limit", "0");
  CU_ASSERT_EQUAL(limits_parse(&given, &metadata, NULL), 0);
  CHECK_STRING(string_map_get(&metadata, "conf_rbd_qos_iops_limit"), "0");
  string_map_clear(&given);
  string_map_clear(&metadata);
}

UNIT_MAIN("csi/volume/limits", UNIT_TEST(test_every_limit_becomes_metadata),
          UNIT_TEST(test_values_are_written_as_plain_numbers),
          UNIT_TEST(test_unknown_limits_are_refused_by_name),
          UNIT_TEST(test_bad_values_are_refused_by_name),
          UNIT_TEST(test_nothing_given_changes_nothing))
