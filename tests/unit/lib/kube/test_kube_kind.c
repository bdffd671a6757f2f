/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/kube_kind.h"

#include "lib/base/cleanup.h"
#include "lib/kube/kube_time.h"
#include "tests/unit/unit.h"

static void
test_paths_lead_to_lists_objects_and_subresources(void)
{
  static const struct {
    const struct kube_kind *kind;
    const char *ns;
    const char *name;
    const char *sub;
    const char *path;
  } rows[] = {
      {&kube_secrets, NULL, NULL, NULL, "/api/v1/secrets"},
      {&kube_secrets, "n", NULL, NULL, "/api/v1/namespaces/n/secrets"},
      {&kube_secrets, "n", "s", NULL, "/api/v1/namespaces/n/secrets/s"},
      {&kube_leases, "n", "s", NULL, "/apis/coordination.k8s.io/v1/namespaces/n/leases/s"},
      {&kube_persistent_volumes, "n", "v", "status", "/api/v1/persistentvolumes/v/status"},
      {&kube_secrets, "../x", "a/b?c#d%", NULL,
       "/api/v1/namespaces/..%2Fx/secrets/a%2Fb%3Fc%23d%25"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(freep)
    char *path = kube_kind_path(rows[i].kind, rows[i].ns, rows[i].name, rows[i].sub);
    CHECK_STRING(path, rows[i].path);
  }
}

static void
test_versions_have_their_group_in_front(void)
{
  CLEANUP(freep) char *core = kube_kind_api_version(&kube_pods);
  CLEANUP(freep) char *grouped = kube_kind_api_version(&kube_storage_classes);
  CHECK_STRING(core, "v1");
  CHECK_STRING(grouped, "storage.k8s.io/v1");
}

static void
test_times_are_written_and_read(void)
{
  char text[KUBE_TIME_BYTES];
  time_t at;
  CHECK_STRING(kube_time_text(1763280543, text), "2025-11-16T08:09:03Z");
  REQUIRE(kube_time_parse("2025-11-16T08:09:03Z", &at) == 0);
  CHECK_NUMBER(at, 1763280543);
  REQUIRE(kube_time_parse("2025-11-16T08:09:03.123456Z", &at) == 0);
  CHECK_NUMBER(at, 1763280543);
  CU_ASSERT_EQUAL(kube_time_parse("2025-11-16", &at), -1);
  CU_ASSERT_EQUAL(kube_time_parse("2025-11-16T08:09:03+01:00", &at), -1);
  CU_ASSERT_EQUAL(kube_time_parse(NULL, &at), -1);
  REQUIRE(kube_time_parse(kube_time_now_micro(text), &at) == 0);
  CU_ASSERT_TRUE(time(NULL) - at <= 2);
}

UNIT_MAIN("lib/kube/kube_kind", UNIT_TEST(test_paths_lead_to_lists_objects_and_subresources),
          UNIT_TEST(test_versions_have_their_group_in_front),
          UNIT_TEST(test_times_are_written_and_read))
