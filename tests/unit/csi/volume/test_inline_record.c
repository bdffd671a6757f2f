/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/inline_record.h"

#include "csi/volume/record.h"
#include "tests/unit/unit.h"

static const struct inline_record record = {.volume_id = "csi-1",
                                            .source = "1:c:2::abc@5",
                                            .node = "node-a",
                                            .target = "/var/lib/kubelet/pods/1/mount",
                                            .seen_s = 1700000000};
static const struct inline_request request = {
    .mapper = "nbd", .size_bytes = 4096, .pod_namespace = "team-a", .pod_name = "web-0"};

static void
test_what_is_written_is_read(void)
{
  struct string_map metadata = {0};
  struct inline_record read;
  inline_record_write(&record, &request, "1234", &metadata);
  CU_ASSERT_TRUE(record_is_ready(&metadata, "1234"));
  inline_record_read(&metadata, &read);
  CHECK_STRING(read.volume_id, "csi-1");
  CHECK_STRING(read.source, "1:c:2::abc@5");
  CHECK_STRING(read.node, "node-a");
  CHECK_STRING(read.target, "/var/lib/kubelet/pods/1/mount");
  CU_ASSERT_EQUAL(read.seen_s, 1700000000);
  CHECK_STRING(string_map_get(&metadata, "imprint.label.pod.name"), "web-0");
  CHECK_STRING(string_map_get(&metadata, "imprint.set.mapper"), "nbd");
  inline_record_write_seen(1700000001, &metadata);
  inline_record_read(&metadata, &read);
  CU_ASSERT_EQUAL(read.seen_s, 1700000001);
  string_map_clear(&metadata);
}

static void
test_nothing_is_read_from_nothing(void)
{
  struct string_map metadata = {0};
  struct inline_record read;
  inline_record_read(&metadata, &read);
  CHECK_STRING(read.node, "");
  CHECK_STRING(read.volume_id, "");
  CU_ASSERT_EQUAL(read.seen_s, 0);
  string_map_set(&metadata, "imprint.inline.seen", "-5");
  inline_record_read(&metadata, &read);
  CU_ASSERT_EQUAL(read.seen_s, 0);
  string_map_clear(&metadata);
}

static void
test_another_request_differs(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct string_map metadata = {0};
  struct inline_request other = request;
  inline_record_write(&record, &request, "1234", &metadata);
  CU_ASSERT_EQUAL(inline_record_compare(&record, &request, &metadata, NULL), 0);
  other.size_bytes = 8192;
  CU_ASSERT_EQUAL(inline_record_compare(&record, &other, &metadata, &err), -1);
  CHECK_ERROR(&err, ERROR_ALREADY_EXISTS,
              "its parameter 'size' was '4096', now '8192' is asked for");
  string_map_clear(&metadata);
}

static void
test_an_image_outlives_its_node_by_the_expiry(void)
{
  CU_ASSERT_EQUAL(inline_record_fate(&record, "node-a", 1800000000, 60), INLINE_FATE_OWN);
  CU_ASSERT_EQUAL(inline_record_fate(&record, "node-b", 1700000060, 60), INLINE_FATE_OTHER);
  CU_ASSERT_EQUAL(inline_record_fate(&record, "node-b", 1700000061, 60), INLINE_FATE_EXPIRED);
  /* a clock that is behind */
  CU_ASSERT_EQUAL(inline_record_fate(&record, "node-b", 1600000000, 60), INLINE_FATE_OTHER);
}

UNIT_MAIN("csi/volume/inline_record", UNIT_TEST(test_what_is_written_is_read),
          UNIT_TEST(test_nothing_is_read_from_nothing), UNIT_TEST(test_another_request_differs),
          UNIT_TEST(test_an_image_outlives_its_node_by_the_expiry))
