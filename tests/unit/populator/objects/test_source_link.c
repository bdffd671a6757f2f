/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/source_link.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static bool
read_text(const char *text, struct source_link *link)
{
  CLEANUP(json_object_putp) struct json_object *json = NULL;
  REQUIRE(json_parse(text, strlen(text), &json, NULL) == 0);
  return source_link_read(json, "here", link);
}

static void
test_claims_and_snapshots_are_read(void)
{
  CLEANUP(source_link_clear) struct source_link claim = {0};
  CLEANUP(source_link_clear) struct source_link snapshot = {0};
  CU_ASSERT_TRUE(read_text("{\"pvc\":{\"namespace\":\"golden\",\"name\":\"fedora\"}}", &claim));
  CU_ASSERT_TRUE(read_text("{\"snapshot\":{\"name\":\"s\"}}", &snapshot));
  CU_ASSERT_PTR_EQUAL(claim.kind, &kube_persistent_volume_claims);
  CHECK_STRING(claim.ns, "golden");
  CHECK_STRING(claim.name, "fedora");
  CU_ASSERT_PTR_EQUAL(snapshot.kind, &kube_volume_snapshots);
  CHECK_STRING(snapshot.ns, "here");
  CU_ASSERT_FALSE(source_link_is_same(&claim, &snapshot));
}

static void
test_nothing_else_is(void)
{
  static const char *const texts[] = {"{}", "{\"pvc\":{}}", "{\"pvc\":{\"name\":\"\"}}",
                                      "{\"dataSource\":{\"name\":\"x\"}}", "[]"};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    struct source_link link = {0};
    CU_ASSERT_FALSE(read_text(texts[i], &link));
  }
}

static void
test_text_and_json_lead_back(void)
{
  CLEANUP(source_link_clear) struct source_link link = {0};
  CLEANUP(source_link_clear) struct source_link again = {0};
  CLEANUP(source_link_clear) struct source_link third = {0};
  REQUIRE(source_link_parse("VolumeSnapshot/golden/s.1", &link));
  CLEANUP(freep) char *text = source_link_text(&link);
  CHECK_STRING(text, "VolumeSnapshot/golden/s.1");
  CLEANUP(json_object_putp) struct json_object *json = source_link_json(&link);
  REQUIRE(source_link_read(json, "elsewhere", &again));
  CU_ASSERT_TRUE(source_link_is_same(&link, &again));
  source_link_copy(&link, &third);
  CU_ASSERT_TRUE(source_link_is_same(&link, &third));
  static const char *const bad[] = {"",
                                    "Pod/a/b",
                                    "VolumeSnapshot",
                                    "VolumeSnapshot/a",
                                    "VolumeSnapshot//b",
                                    "VolumeSnapshot/a/",
                                    "VolumeSnapshot/a/b/c"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    struct source_link none = {0};
    CU_ASSERT_FALSE(source_link_parse(bad[i], &none));
  }
  CU_ASSERT_FALSE(source_link_parse(NULL, &link));
}

UNIT_MAIN("populator/objects/source_link", UNIT_TEST(test_claims_and_snapshots_are_read),
          UNIT_TEST(test_nothing_else_is), UNIT_TEST(test_text_and_json_lead_back))
