/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/record.h"

#include "tests/unit/unit.h"

#define ID "10f4a6b8b4567"

/* A request, its parameters parsed from pairs that end with NULL. */
struct request {
  struct record record;
  struct volume_parameters parameters;
};

static void
request_init(struct request *request, const char *source, const char *const *pairs)
{
  struct string_map given = {0};
  for (; *pairs; pairs += 2)
    string_map_set(&given, pairs[0], pairs[1]);
  int r = volume_parameters_parse(&given, &request->parameters, NULL);
  string_map_clear(&given);
  REQUIRE(r == 0);
  request->record =
      (struct record){.name = "pvc-1", .source = source, .parameters = &request->parameters};
}

static void
request_clear(struct request *request)
{
  volume_parameters_clear(&request->parameters);
}

static const char *const plain[] = {"pool", "vms", NULL};
static const char *const rich[] = {"pool",
                                   "vms",
                                   "clusterID",
                                   "prod",
                                   "namespace",
                                   "tenant",
                                   "mapper",
                                   "krbd",
                                   "mapOptions",
                                   "ro",
                                   "unmapOptions",
                                   "force",
                                   "mkfsOptions",
                                   "-K",
                                   "objectSize",
                                   "8Mi",
                                   "csi.storage.k8s.io/pvc/name",
                                   "claim",
                                   "csi.storage.k8s.io/pvc/namespace",
                                   "team",
                                   NULL};

static void
test_a_record_holds_the_request(void)
{
  struct request request;
  struct string_map metadata = {0};
  request_init(&request, "1:prod:3::abc@4", rich);
  record_write_ready(&request.record, ID, &metadata);
  CHECK_STRING(string_map_get(&metadata, "imprint.ready"), ID);
  CHECK_STRING(string_map_get(&metadata, "imprint.name"), "pvc-1");
  CHECK_STRING(string_map_get(&metadata, "imprint.source"), "1:prod:3::abc@4");
  CHECK_STRING(string_map_get(&metadata, "imprint.set.pool"), "vms");
  CHECK_STRING(string_map_get(&metadata, "imprint.set.objectSize"), "8Mi");
  CHECK_STRING(string_map_get(&metadata, "imprint.label.pvc/name"), "claim");
  CHECK_STRING(string_map_get(&metadata, "imprint.label.pvc/namespace"), "team");
  CU_ASSERT_PTR_NULL(string_map_get(&metadata, "imprint.copying"));
  CHECK_NUMBER(metadata.count, 3 + 8 + 2);
  CHECK_STRING(record_source(&metadata), "1:prod:3::abc@4");
  string_map_clear(&metadata);
  request_clear(&request);
}

static void
test_a_blank_volume_has_no_source(void)
{
  struct request request;
  struct string_map metadata = {0};
  request_init(&request, "", plain);
  record_write_ready(&request.record, ID, &metadata);
  CU_ASSERT_PTR_NULL(string_map_get(&metadata, "imprint.source"));
  CHECK_STRING(record_source(&metadata), "");
  CU_ASSERT_EQUAL(record_compare(&request.record, &metadata, NULL), 0);
  string_map_clear(&metadata);
  request_clear(&request);
}

/* A clone has its parent's record until its own is written. */
static void
test_ready_counts_only_with_the_own_id(void)
{
  struct request request;
  struct string_map metadata = {0};
  CU_ASSERT_FALSE(record_is_ready(&metadata, ID));
  request_init(&request, "", plain);
  record_write_ready(&request.record, ID, &metadata);
  CU_ASSERT(record_is_ready(&metadata, ID));
  CU_ASSERT_FALSE(record_is_ready(&metadata, "10f4a6b8b4568"));
  CU_ASSERT_FALSE(record_is_ready(&metadata, "10f4a6b8b456"));
  CU_ASSERT_FALSE(record_is_ready(&metadata, ID "0"));
  CU_ASSERT_FALSE(record_is_ready(&metadata, ""));
  CU_ASSERT_FALSE(record_is_copying(&metadata, ID));
  string_map_clear(&metadata);
  request_clear(&request);
}

static void
test_copying_is_not_ready(void)
{
  struct request request;
  struct string_map metadata = {0}, keys = {0};
  request_init(&request, "1:c:1::i", plain);
  record_write_copying(&request.record, ID, &metadata);
  CU_ASSERT(record_is_copying(&metadata, ID));
  CU_ASSERT_FALSE(record_is_copying(&metadata, "other"));
  CU_ASSERT_FALSE(record_is_ready(&metadata, ID));
  CU_ASSERT_EQUAL(record_compare(&request.record, &metadata, NULL), 0);
  record_list_copying(&keys);
  CHECK_NUMBER(keys.count, 1);
  CHECK_STRING(keys.entries[0].key, "imprint.copying");
  string_map_clear(&keys);
  string_map_clear(&metadata);
  request_clear(&request);
}

static void
test_the_same_request_compares_equal(void)
{
  struct request request;
  struct string_map metadata = {0};
  request_init(&request, "1:c:1::i", rich);
  record_write_ready(&request.record, ID, &metadata);
  string_map_set(&metadata, "imprint.node.n1", "rw");
  string_map_set(&metadata, "conf_rbd_qos_iops_limit", "5");
  string_map_set(&metadata, "somebody's own", "x");
  CU_ASSERT_EQUAL(record_compare(&request.record, &metadata, NULL), 0);
  string_map_clear(&metadata);
  request_clear(&request);
}

/* Labels tell whose volume it is; that may change. */
static void
test_labels_are_not_compared(void)
{
  static const char *const relabelled[] = {"pool", "vms", "csi.storage.k8s.io/pvc/name", "other",
                                           NULL};
  struct request before, now;
  struct string_map metadata = {0};
  request_init(&before, "", plain);
  request_init(&now, "", relabelled);
  record_write_ready(&before.record, ID, &metadata);
  CU_ASSERT_EQUAL(record_compare(&now.record, &metadata, NULL), 0);
  string_map_clear(&metadata);
  request_clear(&before);
  request_clear(&now);
}

static void
test_an_empty_parameter_is_one_left_out(void)
{
  static const char *const spelled_out[] = {"pool", "vms", "namespace", "", "mapOptions", "", NULL};
  struct request left_out, empty;
  struct string_map metadata = {0};
  request_init(&left_out, "", plain);
  request_init(&empty, "", spelled_out);
  record_write_ready(&left_out.record, ID, &metadata);
  CU_ASSERT_EQUAL(record_compare(&empty.record, &metadata, NULL), 0);
  string_map_clear(&metadata);
  record_write_ready(&empty.record, ID, &metadata);
  CU_ASSERT_EQUAL(record_compare(&left_out.record, &metadata, NULL), 0);
  string_map_clear(&metadata);
  request_clear(&left_out);
  request_clear(&empty);
}

static void
test_a_difference_is_named(void)
{
  static const char *const other_pool[] = {"pool", "other", NULL};
  static const char *const mapped[] = {"pool", "vms", "mapper", "nbd", NULL};
  static const char *const mapped_otherwise[] = {"pool", "vms", "mapper", "krbd", NULL};
  static const struct {
    const char *const *before, *const *now;
    const char *source_before, *source_now;
    const char *message;
  } rows[] = {
      {plain, other_pool, "", "", "its parameter 'pool' was 'vms', now 'other' is asked for"},
      {plain, mapped, "", "", "its parameter 'mapper' was 'none', now 'nbd' is asked for"},
      {mapped, plain, "", "", "its parameter 'mapper' was 'nbd', now 'none' is asked for"},
      {mapped, mapped_otherwise, "", "", "its parameter 'mapper' was 'nbd', now 'krbd'"},
      {plain, plain, "", "1:c:1::i", "its content source was 'none', now '1:c:1::i' is asked for"},
      {plain, plain, "1:c:1::i", "", "its content source was '1:c:1::i', now 'none' is asked for"},
      {plain, plain, "1:c:1::i", "1:c:1::j", "its content source was '1:c:1::i', now '1:c:1::j'"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct request before, now;
    struct string_map metadata = {0};
    request_init(&before, rows[i].source_before, rows[i].before);
    request_init(&now, rows[i].source_now, rows[i].now);
    record_write_ready(&before.record, ID, &metadata);
    CHECK_ROW(record_compare(&now.record, &metadata, &err) == -1, rows[i].message);
    CHECK_ERROR(&err, ERROR_ALREADY_EXISTS, rows[i].message);
    string_map_clear(&metadata);
    request_clear(&before);
    request_clear(&now);
  }
}

/* Two request names of one image name would be a hash collision, or someone's hand. */
static void
test_another_name_is_a_difference(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct request request;
  struct string_map metadata = {0};
  request_init(&request, "", plain);
  CU_ASSERT_EQUAL(record_compare(&request.record, &metadata, &err), -1);
  CHECK_ERROR(&err, ERROR_ALREADY_EXISTS, "its name was 'none', now 'pvc-1' is asked for");
  record_write_ready(&request.record, ID, &metadata);
  string_map_set(&metadata, "imprint.name", "pvc-2");
  CU_ASSERT_EQUAL(record_compare(&request.record, &metadata, &err), -1);
  CHECK_ERROR(&err, ERROR_ALREADY_EXISTS, "its name was 'pvc-2', now 'pvc-1' is asked for");
  string_map_clear(&metadata);
  request_clear(&request);
}

static void
test_inherited_keys_are_ours_and_the_limits(void)
{
  struct request request;
  struct string_map metadata = {0}, keys = {0};
  request_init(&request, "1:c:1::i", rich);
  record_write_ready(&request.record, ID, &metadata);
  size_t ours = metadata.count;
  string_map_set(&metadata, "imprint.node.n1", "rw");
  string_map_set(&metadata, "imprint.copying", ID);
  string_map_set(&metadata, "conf_rbd_qos_iops_limit", "5");
  ours += 3;
  string_map_set(&metadata, "conf_rbd_cache", "false"); /* what an operator has set stays */
  string_map_set(&metadata, "imprintx", "x");
  string_map_set(&metadata, "owner", "x");
  record_list_inherited(&metadata, &keys);
  CHECK_NUMBER(keys.count, ours);
  CU_ASSERT_PTR_NOT_NULL(string_map_get(&keys, "imprint.ready"));
  CU_ASSERT_PTR_NOT_NULL(string_map_get(&keys, "imprint.node.n1"));
  CU_ASSERT_PTR_NOT_NULL(string_map_get(&keys, "conf_rbd_qos_iops_limit"));
  CU_ASSERT_PTR_NULL(string_map_get(&keys, "conf_rbd_cache"));
  CU_ASSERT_PTR_NULL(string_map_get(&keys, "imprintx"));
  CU_ASSERT_PTR_NULL(string_map_get(&keys, "owner"));
  string_map_clear(&keys);
  string_map_clear(&metadata);
  request_clear(&request);
}

static void
test_the_volume_context_is_what_nodes_need(void)
{
  struct request request;
  struct string_map metadata = {0}, context = {0};
  request_init(&request, "", rich);
  record_write_ready(&request.record, ID, &metadata);
  record_volume_context(&metadata, &context);
  CHECK_STRING(string_map_get(&context, "clusterID"), "prod");
  CHECK_STRING(string_map_get(&context, "pool"), "vms");
  CHECK_STRING(string_map_get(&context, "namespace"), "tenant");
  CHECK_STRING(string_map_get(&context, "mapper"), "krbd");
  CHECK_STRING(string_map_get(&context, "mapOptions"), "ro");
  CHECK_STRING(string_map_get(&context, "unmapOptions"), "force");
  CHECK_STRING(string_map_get(&context, "mkfsOptions"), "-K");
  CHECK_NUMBER(context.count, 7);
  string_map_clear(&context);
  string_map_clear(&metadata);
  record_volume_context(&metadata, &context);
  CHECK_NUMBER(context.count, 0);
  request_clear(&request);
}

UNIT_MAIN("csi/volume/record", UNIT_TEST(test_a_record_holds_the_request),
          UNIT_TEST(test_a_blank_volume_has_no_source),
          UNIT_TEST(test_ready_counts_only_with_the_own_id), UNIT_TEST(test_copying_is_not_ready),
          UNIT_TEST(test_the_same_request_compares_equal), UNIT_TEST(test_labels_are_not_compared),
          UNIT_TEST(test_an_empty_parameter_is_one_left_out), UNIT_TEST(test_a_difference_is_named),
          UNIT_TEST(test_another_name_is_a_difference),
          UNIT_TEST(test_inherited_keys_are_ours_and_the_limits),
          UNIT_TEST(test_the_volume_context_is_what_nodes_need))
