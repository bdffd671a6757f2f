/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/parameters.h"

#include <string.h>

#include "csi/volume/image_features.h"
#include "lib/base/memory.h"
#include "tests/unit/unit.h"

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

/* Parses {"pool": "p", name: value}. */
static int
parse_with(const char *name, const char *value, struct volume_parameters *ret_parameters,
           struct error **err)
{
  struct string_map given = {0};
  string_map_set(&given, "pool", "p");
  string_map_set(&given, name, value);
  int r = volume_parameters_parse(&given, ret_parameters, err);
  string_map_clear(&given);
  return r;
}

static void
test_only_the_pool_is_needed_and_the_rest_has_defaults(void)
{
  struct string_map given = {0};
  string_map_set(&given, "pool", "vms");
  struct volume_parameters p;
  REQUIRE(volume_parameters_parse(&given, &p, NULL) == 0);
  CHECK_STRING(p.pool, "vms");
  CU_ASSERT_PTR_NULL(p.cluster_id);
  CU_ASSERT_PTR_NULL(p.data_pool);
  CHECK_STRING(p.name_space, "");
  CHECK_NUMBER(p.features, IMAGE_FEATURES_DEFAULT);
  CHECK_NUMBER(p.order, 0);
  CHECK_NUMBER(p.stripe_unit, 0);
  CHECK_NUMBER(p.stripe_count, 0);
  CHECK_NUMBER(p.copy_mode, COPY_MODE_COW);
  CHECK_NUMBER(p.settings.count, 1);
  CHECK_NUMBER(p.labels.count, 0);
  CHECK_NUMBER(p.node.count, 0);
  volume_parameters_clear(&p);
  string_map_clear(&given);
}

static void
test_every_parameter_arrives(void)
{
  static const char *const pairs[][2] = {
      {"clusterID", "prod"},
      {"copyMode", "clone"},
      {"dataPool", "ec"},
      {"imageFeatures", "layering,exclusive-lock"},
      {"mapOptions", "lock_on_read"},
      {"mapper", "nbd"},
      {"mkfsOptions", "-E nodiscard"},
      {"namespace", "tenant"},
      {"objectSize", "8Mi"},
      {"pool", "vms"},
      {"stripeCount", "16"},
      {"stripeUnit", "64Ki"},
      {"unmapOptions", "force"},
      {"csi.storage.k8s.io/pvc/name", "claim"},
  };
  struct string_map given = {0};
  for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
    string_map_set(&given, pairs[i][0], pairs[i][1]);
  CLEANUP(error_freep) struct error *err = NULL;
  struct volume_parameters p;
  REQUIRE(volume_parameters_parse(&given, &p, &err) == 0);
  CHECK_STRING(p.cluster_id, "prod");
  CHECK_STRING(p.pool, "vms");
  CHECK_STRING(p.data_pool, "ec");
  CHECK_STRING(p.name_space, "tenant");
  CHECK_NUMBER(p.features, IMAGE_FEATURE_LAYERING | IMAGE_FEATURE_EXCLUSIVE_LOCK);
  CHECK_NUMBER(p.order, 23);
  CHECK_NUMBER(p.stripe_unit, 65536);
  CHECK_NUMBER(p.stripe_count, 16);
  CHECK_NUMBER(p.copy_mode, COPY_MODE_CLONE);
  CHECK_STRING(string_map_get(&p.node, "mapper"), "nbd");
  CHECK_STRING(string_map_get(&p.node, "mapOptions"), "lock_on_read");
  CHECK_STRING(string_map_get(&p.node, "unmapOptions"), "force");
  CHECK_STRING(string_map_get(&p.node, "mkfsOptions"), "-E nodiscard");
  CHECK_NUMBER(p.node.count, 4);
  CHECK_NUMBER(p.settings.count, 13);
  CHECK_STRING(string_map_get(&p.settings, "objectSize"), "8Mi");
  CHECK_NUMBER(p.labels.count, 1);
  CHECK_STRING(string_map_get(&p.labels, "csi.storage.k8s.io/pvc/name"), "claim");
  volume_parameters_clear(&p);
  string_map_clear(&given);
}

static void
test_good_values_are_taken(void)
{
  static const char *const rows[][2] = {
      {"clusterID", "a"},
      {"clusterID", "01234567-89ab-cdef-0123-456789abcdef"},
      {"pool", "."},
      {"pool", ".rgw.buckets"},
      {"pool", "a pool with spaces"},
      {"pool", HUNDRED TEN TEN "12345678"},
      {"dataPool", "x"},
      {"namespace", ""},
      {"namespace", "abcdefghijklmnopqrstuvwxyz012345"},
      {"imageFeatures", "layering"},
      {"objectSize", "4Ki"},
      {"objectSize", "4096"},
      {"objectSize", "32Mi"},
      {"objectSize", "33554432"},
      {"copyMode", "cow"},
      {"copyMode", "clone"},
      {"mapper", "auto"},
      {"mapper", "krbd"},
      {"mapper", "nbd"},
      {"mapper", "fuse"},
      {"mapOptions", ""},
      {"mapOptions", "a=b,c ~"},
      {"csi.storage.k8s.io/pv/name", ""},
      {"csi.storage.k8s.io/", "x"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct volume_parameters p;
    int r = parse_with(rows[i][0], rows[i][1], &p, NULL);
    CHECK_ROW(r == 0, rows[i][0]);
    if (r == 0)
      volume_parameters_clear(&p);
  }
}

/* Every one is refused, and the message names the parameter. */
static void
check_refused(const char *name, const char *value)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *row = xasprintf("%s=%s", name, value);
  CLEANUP(freep) char *named = xasprintf("parameter '%.64s'", name);
  struct volume_parameters p = {.order = 42};
  CHECK_ROW(parse_with(name, value, &p, &err) == -1, row);
  CHECK_NUMBER(p.order, 42); /* the output stays as it was */
  REQUIRE(err);
  CHECK_ROW(strlen(err->message) < 400, row);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, named);
}

static void
test_bad_values_are_refused_by_name(void)
{
  static const char *const rows[][2] = {
      {"clusterID", ""},
      {"clusterID", "a/b"},
      {"clusterID", "-a"},
      {"clusterID", "a:b"},
      {"clusterID", "0123456789012345678901234567890123456"},
      {"pool", ""},
      {"pool", "a/b"},
      {"pool", "a@b"},
      {"pool", HUNDRED TEN TEN "123456789"},
      {"dataPool", ""},
      {"dataPool", "a/b"},
      {"dataPool", "a@b"},
      {"dataPool", HUNDRED HUNDRED},
      {"namespace", "a/b"},
      {"namespace", "-"},
      {"namespace", "a b"},
      {"namespace", "abcdefghijklmnopqrstuvwxyz0123456"},
      {"imageFeatures", ""},
      {"imageFeatures", "layering,"},
      {"imageFeatures", "exclusive-lock"},
      {"imageFeatures", "layering,fast-diff"},
      {"objectSize", ""},
      {"objectSize", "0"},
      {"objectSize", "2Ki"},
      {"objectSize", "64Mi"},
      {"objectSize", "5Mi"},
      {"objectSize", "4MB"},
      {"objectSize", "4M"},
      {"objectSize", "-4Mi"},
      {"objectSize", "18446744073709551616"},
      {"copyMode", ""},
      {"copyMode", "COW"},
      {"copyMode", "full"},
      {"copyMode", "cow "},
      {"mapper", ""},
      {"mapper", "rbd-nbd"},
      {"mapper", "KRBD"},
      {"mapOptions", "a\nb"},
      {"mapOptions", "\xc3\xa9"},
      {"unmapOptions", "a\tb"},
      {"mkfsOptions", "\x7f"},
      {"mkfsOptions", HUNDRED "\x01"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    check_refused(rows[i][0], rows[i][1]);
}

static void
test_an_unknown_parameter_is_refused_by_name(void)
{
  static const char *const names[] = {"",
                                      "Pool",
                                      "pool ",
                                      "clusterId",
                                      "imageFormat",
                                      "csi.storage.k8s.io",
                                      "CSI.storage.k8s.io/pvc/name",
                                      HUNDRED};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    check_refused(names[i], "x");
    CLEANUP(error_freep) struct error *err = NULL;
    struct volume_parameters p;
    (void)parse_with(names[i], "x", &p, &err);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "is not known: see docs/storageclass.md");
  }
}

static void
test_the_pool_is_needed(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct string_map given = {0};
  struct volume_parameters p;
  CU_ASSERT_EQUAL(volume_parameters_parse(&given, &p, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "parameter 'pool' is needed");
  string_map_set(&given, "dataPool", "p");
  CU_ASSERT_EQUAL(volume_parameters_parse(&given, &p, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "parameter 'pool' is needed");
  string_map_clear(&given);
}

static int
parse_striping(const char *unit, const char *count, const char *object_size, struct error **err)
{
  struct string_map given = {0};
  string_map_set(&given, "pool", "p");
  if (unit)
    string_map_set(&given, "stripeUnit", unit);
  if (count)
    string_map_set(&given, "stripeCount", count);
  if (object_size)
    string_map_set(&given, "objectSize", object_size);
  struct volume_parameters p;
  int r = volume_parameters_parse(&given, &p, err);
  if (r == 0)
    volume_parameters_clear(&p);
  string_map_clear(&given);
  return r;
}

static void
test_striping_that_fits_is_taken(void)
{
  static const char *const rows[][3] = {
      {"64Ki", "16", NULL}, {"512", "1", NULL},    {"4Mi", "1024", NULL}, {"8Mi", "2", "8Mi"},
      {"4Ki", "2", "4Ki"},  {"32Mi", "2", "32Mi"}, {"65536", "8", "4Mi"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    CHECK_ROW(parse_striping(rows[i][0], rows[i][1], rows[i][2], NULL) == 0, rows[i][0]);
}

static void
test_striping_that_does_not_fit_is_refused(void)
{
  static const struct {
    const char *unit, *count, *object_size;
    const char *message;
  } rows[] = {
      {"64Ki", NULL, NULL, "'stripeCount' is missing"},
      {NULL, "16", NULL, "'stripeUnit' is missing"},
      {"256", "2", NULL, "parameter 'stripeUnit'"},
      {"0", "2", NULL, "parameter 'stripeUnit'"},
      {"64Mi", "2", NULL, "parameter 'stripeUnit'"},
      {"x", "2", NULL, "parameter 'stripeUnit'"},
      {"8Mi", "2", NULL, "parameter 'stripeUnit': 8388608 does not divide the object size 4194304"},
      {"3Mi", "2", NULL, "does not divide the object size"},
      {"8Ki", "2", "4Ki", "parameter 'stripeUnit': 8192 does not divide the object size 4096"},
      {"64Ki", "0", NULL, "parameter 'stripeCount'"},
      {"64Ki", "1025", NULL, "parameter 'stripeCount': a number from 1 to 1024"},
      {"64Ki", "-1", NULL, "parameter 'stripeCount'"},
      {"64Ki", "2Ki", NULL, "parameter 'stripeCount'"},
      {"64Ki", "", NULL, "parameter 'stripeCount'"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(parse_striping(rows[i].unit, rows[i].count, rows[i].object_size, &err) == -1,
              rows[i].message);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, rows[i].message);
  }
}

static void
test_names_are_listed_in_order_and_all_known(void)
{
  const char *const *names = volume_parameter_names();
  size_t count = 0;
  for (; names[count]; count++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct volume_parameters p;
    if (parse_with(names[count], "\x01", &p, &err) == 0)
      volume_parameters_clear(&p);
    CHECK_ROW(!err || !strstr(err->message, "is not known"), names[count]);
    CHECK_ROW(count == 0 || strcmp(names[count - 1], names[count]) < 0, names[count]);
  }
  CHECK_NUMBER(count, 15);
}

static void
test_an_image_source_is_a_url_without_secrets(void)
{
  static const char *const bad[] = {"",
                                    "/etc/passwd",
                                    "file:///etc/passwd",
                                    "rbd:pool/image",
                                    "-",
                                    "https://user:secret@example.com/a",
                                    "docker://user@registry.example/a"};
  struct volume_parameters p;
  REQUIRE(parse_with("imageSource", "https://example.com/a@b?c=d@e", &p, NULL) == 0);
  CHECK_STRING(p.image_source, "https://example.com/a@b?c=d@e");
  volume_parameters_clear(&p);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(parse_with("imageSource", bad[i], &p, &err) < 0, bad[i]);
    CHECK_ROW(err && strstr(err->message, "imageSource"), bad[i]);
    CHECK_ROW(!err || !strstr(err->message, "secret@"), bad[i]);
  }
}

static void
test_clear_accepts_what_was_never_filled(void)
{
  struct volume_parameters p = {0};
  volume_parameters_clear(&p);
  volume_parameters_clear(&p);
}

static void
test_a_snapshot_class_takes_only_what_kubernetes_adds(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct string_map given = {0};
  CU_ASSERT_EQUAL(snapshot_parameters_check(&given, NULL), 0);
  string_map_set(&given, "csi.storage.k8s.io/volumesnapshot/name", "s");
  CU_ASSERT_EQUAL(snapshot_parameters_check(&given, NULL), 0);
  string_map_set(&given, "clusterID", "prod");
  CU_ASSERT_EQUAL(snapshot_parameters_check(&given, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "parameter 'clusterID' is not known");
  string_map_clear(&given);
}

UNIT_MAIN("csi/volume/parameters",
          UNIT_TEST(test_only_the_pool_is_needed_and_the_rest_has_defaults),
          UNIT_TEST(test_every_parameter_arrives), UNIT_TEST(test_good_values_are_taken),
          UNIT_TEST(test_bad_values_are_refused_by_name),
          UNIT_TEST(test_an_unknown_parameter_is_refused_by_name),
          UNIT_TEST(test_the_pool_is_needed), UNIT_TEST(test_striping_that_fits_is_taken),
          UNIT_TEST(test_striping_that_does_not_fit_is_refused),
          UNIT_TEST(test_names_are_listed_in_order_and_all_known),
          UNIT_TEST(test_an_image_source_is_a_url_without_secrets),
          UNIT_TEST(test_clear_accepts_what_was_never_filled),
          UNIT_TEST(test_a_snapshot_class_takes_only_what_kubernetes_adds))
