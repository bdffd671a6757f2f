/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/inline_request.h"

#include "tests/unit/unit.h"

/* A context of kubelet's, with up to three attributes beside it. */
static struct string_map
context_of(const char *const pairs[][2], size_t count)
{
  struct string_map context = {0};
  string_map_set(&context, "csi.storage.k8s.io/ephemeral", "true");
  string_map_set(&context, "csi.storage.k8s.io/pod.namespace", "team-a");
  string_map_set(&context, "csi.storage.k8s.io/pod.name", "web-0");
  for (size_t i = 0; i < count; i++)
    string_map_set(&context, pairs[i][0], pairs[i][1]);
  return context;
}

static void
test_a_context_of_an_inline_volume_says_so(void)
{
  struct string_map context = {0};
  CU_ASSERT_FALSE(inline_request_is_one(&context));
  string_map_set(&context, "csi.storage.k8s.io/ephemeral", "false");
  CU_ASSERT_FALSE(inline_request_is_one(&context));
  string_map_set(&context, "csi.storage.k8s.io/ephemeral", "true");
  CU_ASSERT_TRUE(inline_request_is_one(&context));
  string_map_clear(&context);
}

static void
test_an_image_is_named_as_rbd_names_it(void)
{
  static const struct {
    const char *text, *pool, *name_space, *image, *snapshot;
  } rows[] = {{"p/i@s", "p", "", "i", "s"},
              {"p/n/i@s", "p", "n", "i", "s"},
              {"vm-pool/golden.img-1@2024-01-01", "vm-pool", "", "golden.img-1", "2024-01-01"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const char *const pairs[][2] = {{"image", rows[i].text}, {"size", "1Gi"}, {"mapper", "nbd"}};
    struct string_map context = context_of(pairs, 3);
    struct inline_request request;
    CU_ASSERT_EQUAL_FATAL(inline_request_parse(&context, &request, NULL), 0);
    CHECK_STRING(request.pool, rows[i].pool);
    CHECK_STRING(request.name_space, rows[i].name_space);
    CHECK_STRING(request.image, rows[i].image);
    CHECK_STRING(request.snapshot, rows[i].snapshot);
    CHECK_STRING(request.mapper, "nbd");
    CHECK_STRING(request.pod_namespace, "team-a");
    CHECK_STRING(request.pod_name, "web-0");
    CU_ASSERT_EQUAL(request.size_bytes, 1ULL << 30);
    inline_request_clear(&request);
    string_map_clear(&context);
  }
}

static void
test_what_is_no_request_is_refused(void)
{
  static const char *const rows[][2][2] = {
      {{"size", "1Gi"}, {"size", "1Gi"}},
      {{"image", "p/i@s"}, {"snapshotHandle", "h"}},
      {{"image", "p/i@s"}, {"size", "0"}},
      {{"image", "p/i@s"}, {"size", "much"}},
      {{"image", "p/i@s"}, {"pool", "q"}},
      {{"image", "p/i@s"}, {"csi.storage.k8s.io/pod.namespace", ""}},
      {{"image", "i@s"}, {"image", "i@s"}},
      {{"image", "p/i"}, {"image", "p/i"}},
      {{"image", "p/i@"}, {"image", "p/i@"}},
      {{"image", "p/@s"}, {"image", "p/@s"}},
      {{"image", "/i@s"}, {"image", "/i@s"}},
      {{"image", "p//i@s"}, {"image", "p//i@s"}},
      {{"image", "a/b/c/d@s"}, {"image", "a/b/c/d@s"}},
      {{"image", "p/i@s@t"}, {"image", "p/i@s@t"}},
      {{"image", "p/i@s/t"}, {"image", "p/i@s/t"}},
      {{"image", "@"}, {"image", "@"}},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct string_map context = context_of(rows[i], 2);
    struct inline_request request;
    CHECK_ROW(inline_request_parse(&context, &request, &err) == -1, rows[i][1][1]);
    CHECK_ROW(err && err->code == ERROR_INVALID_ARGUMENT, rows[i][1][1]);
    string_map_clear(&context);
  }
}

static void
test_an_image_says_whose_pods_may_have_it(void)
{
  static const struct {
    const char *list;
    bool is_allowed;
  } rows[] = {{"team-a", true},   {"*", true},       {"team-b,team-a", true}, {"x,*", true},
              {"", false},        {"team", false},   {"team-ab", false},      {"**", false},
              {"team-b,", false}, {",team-a", true}, {"Team-a", false}};
  struct string_map metadata = {0};
  CU_ASSERT_FALSE(inline_request_is_allowed("team-a", "1234", &metadata));
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    string_map_set(&metadata, INLINE_NAMESPACES_KEY, rows[i].list);
    CHECK_ROW(inline_request_is_allowed("team-a", "1234", &metadata) == rows[i].is_allowed,
              rows[i].list);
  }
  string_map_set(&metadata, INLINE_NAMESPACES_KEY, "team-b,,team-c");
  CU_ASSERT_FALSE(inline_request_is_allowed("", "1234", &metadata));
  string_map_clear(&metadata);
}

static void
test_a_claim_s_own_namespace_may(void)
{
  struct string_map metadata = {0};
  string_map_set(&metadata, "imprint.label.pvc/namespace", "team-a");
  string_map_set(&metadata, "imprint.ready", "1234");
  CU_ASSERT_TRUE(inline_request_is_allowed("team-a", "1234", &metadata));
  CU_ASSERT_FALSE(inline_request_is_allowed("team-b", "1234", &metadata));
  /* a clone that still has the record of its parent */
  CU_ASSERT_FALSE(inline_request_is_allowed("team-a", "5678", &metadata));
  string_map_clear(&metadata);
}

UNIT_MAIN("csi/volume/inline_request", UNIT_TEST(test_a_context_of_an_inline_volume_says_so),
          UNIT_TEST(test_an_image_is_named_as_rbd_names_it),
          UNIT_TEST(test_what_is_no_request_is_refused),
          UNIT_TEST(test_an_image_says_whose_pods_may_have_it),
          UNIT_TEST(test_a_claim_s_own_namespace_may))
