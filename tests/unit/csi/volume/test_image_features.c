/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/image_features.h"

#include <rbd/features.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
test_the_bits_are_those_of_rbd(void)
{
  CHECK_NUMBER(IMAGE_FEATURE_LAYERING, RBD_FEATURE_LAYERING);
  CHECK_NUMBER(IMAGE_FEATURE_EXCLUSIVE_LOCK, RBD_FEATURE_EXCLUSIVE_LOCK);
  CHECK_NUMBER(IMAGE_FEATURE_OBJECT_MAP, RBD_FEATURE_OBJECT_MAP);
  CHECK_NUMBER(IMAGE_FEATURE_FAST_DIFF, RBD_FEATURE_FAST_DIFF);
  CHECK_NUMBER(IMAGE_FEATURE_DEEP_FLATTEN, RBD_FEATURE_DEEP_FLATTEN);
  CHECK_NUMBER(IMAGE_FEATURE_JOURNALING, RBD_FEATURE_JOURNALING);
}

static void
test_lists_are_parsed(void)
{
  static const struct {
    const char *list;
    uint64_t features;
  } rows[] = {
      {"layering", IMAGE_FEATURE_LAYERING},
      {"layering,layering", IMAGE_FEATURE_LAYERING},
      {"exclusive-lock,layering", IMAGE_FEATURE_LAYERING | IMAGE_FEATURE_EXCLUSIVE_LOCK},
      {"layering,exclusive-lock,object-map,fast-diff,deep-flatten", IMAGE_FEATURES_DEFAULT},
      {"deep-flatten,fast-diff,object-map,exclusive-lock,layering", IMAGE_FEATURES_DEFAULT},
      {"layering,exclusive-lock,journaling",
       IMAGE_FEATURE_LAYERING | IMAGE_FEATURE_EXCLUSIVE_LOCK | IMAGE_FEATURE_JOURNALING},
      {"layering,deep-flatten", IMAGE_FEATURE_LAYERING | IMAGE_FEATURE_DEEP_FLATTEN},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    uint64_t features = 0;
    CHECK_ROW(image_features_parse(rows[i].list, &features, NULL) == 0, rows[i].list);
    CHECK_ROW(features == rows[i].features, rows[i].list);
  }
}

static void
test_bad_lists_are_refused_with_the_culprit(void)
{
  static const struct {
    const char *list;
    const char *message;
  } rows[] = {
      {"", "'' is not a feature"},
      {",", "'' is not a feature"},
      {"layering,", "'' is not a feature"},
      {",layering", "'' is not a feature"},
      {"layering,,deep-flatten", "'' is not a feature"},
      {"layering, exclusive-lock", "' exclusive-lock' is not a feature"},
      {"Layering", "'Layering' is not a feature"},
      {"layer", "'layer' is not a feature"},
      {"layerings", "'layerings' is not a feature"},
      {"layering,striping", "'striping' is not a feature: known are layering"},
      {"layering,data-pool", "'data-pool' is not a feature"},
      {"exclusive-lock", "'layering' is needed"},
      {"layering,object-map", "'object-map' needs 'exclusive-lock'"},
      {"layering,exclusive-lock,fast-diff", "'fast-diff' needs 'object-map'"},
      {"layering,fast-diff", "'fast-diff' needs 'object-map'"},
      {"layering,journaling", "'journaling' needs 'exclusive-lock'"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    uint64_t features = 42;
    CHECK_ROW(image_features_parse(rows[i].list, &features, &err) == -1, rows[i].list);
    CHECK_NUMBER(features, 42);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, rows[i].message);
  }
}

static void
test_a_long_name_is_cut_in_the_message(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  char list[5000];
  memset(list, 'x', sizeof(list));
  list[sizeof(list) - 1] = '\0';
  uint64_t features;
  CU_ASSERT_EQUAL(image_features_parse(list, &features, &err), -1);
  REQUIRE(err);
  CU_ASSERT(strlen(err->message) < 300);
}

UNIT_MAIN("csi/volume/image_features", UNIT_TEST(test_the_bits_are_those_of_rbd),
          UNIT_TEST(test_lists_are_parsed), UNIT_TEST(test_bad_lists_are_refused_with_the_culprit),
          UNIT_TEST(test_a_long_name_is_cut_in_the_message))
