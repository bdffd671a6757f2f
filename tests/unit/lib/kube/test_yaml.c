/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/yaml.h"

#include <string.h>

#include "tests/unit/unit.h"

static const char kubeconfig[] = "apiVersion: v1\n"
                                 "kind: Config\n"
                                 "current-context: here\n"
                                 "clusters:\n"
                                 "- name: c\n"
                                 "  cluster:\n"
                                 "    server: https://127.0.0.1:6443\n"
                                 "    insecure-skip-tls-verify: false\n"
                                 "contexts: [{name: here, context: {cluster: c, user: \"7\"}}]\n"
                                 "numbers: [1, -2, 18446744073709551616, 1.5, ~, '', \"3\"]\n"
                                 "pem: |\n"
                                 "  line one\n"
                                 "  line two\n";

static void
test_a_kubeconfig_is_read(void)
{
  CLEANUP(json_object_putp) struct json_object *root = NULL;
  REQUIRE(yaml_parse(kubeconfig, strlen(kubeconfig), &root, NULL) == 0);
  struct json_object *cluster = json_at(json_item(json_at(root, "clusters"), 0), "cluster");
  CHECK_STRING(json_text(cluster, "server"), "https://127.0.0.1:6443");
  CU_ASSERT_FALSE(json_flag(cluster, "insecure-skip-tls-verify"));
  struct json_object *context = json_at(json_item(json_at(root, "contexts"), 0), "context");
  CHECK_STRING(json_text(context, "user"), "7");
  CHECK_STRING(json_text(root, "pem"), "line one\nline two\n");
}

static void
test_plain_scalars_have_types(void)
{
  CLEANUP(json_object_putp) struct json_object *root = NULL;
  REQUIRE(yaml_parse(kubeconfig, strlen(kubeconfig), &root, NULL) == 0);
  struct json_object *list = json_at(root, "numbers");
  CHECK_NUMBER(json_object_get_int64(json_item(list, 0)), 1);
  CHECK_NUMBER(json_object_get_int64(json_item(list, 1)), -2);
  CHECK_STRING(json_object_get_string(json_item(list, 2)), "18446744073709551616");
  CHECK_STRING(json_object_get_string(json_item(list, 3)), "1.5");
  CU_ASSERT_PTR_NULL(json_item(list, 4));
  CHECK_STRING(json_object_get_string(json_item(list, 5)), "");
  CU_ASSERT_TRUE(json_object_is_type(json_item(list, 6), json_type_string));
}

static void
test_what_is_not_usable_is_refused_by_line(void)
{
  static const struct {
    const char *text;
    const char *message;
  } rows[] = {
      {"", "empty"},
      {"a: b: c", "line 1"},
      {"a: [1, 2", "line"},
      {"a: &x 1\nb: *x\n", "aliases"},
      {"? [a]\n: b\n", "a key is no text"},
      {"a:\n\tb: c\n", "line 2"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct json_object *root = NULL;
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(yaml_parse(rows[i].text, strlen(rows[i].text), &root, &err) < 0, rows[i].text);
    CHECK_ROW(err && strstr(err->message, rows[i].message), rows[i].text);
  }
}

static void
test_depth_is_bounded(void)
{
  char text[256];
  memset(text, '[', sizeof(text));
  struct json_object *root = NULL;
  struct error *err = NULL;
  CU_ASSERT_EQUAL(yaml_parse(text, sizeof(text), &root, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "too deeply");
}

UNIT_MAIN("lib/kube/yaml", UNIT_TEST(test_a_kubeconfig_is_read),
          UNIT_TEST(test_plain_scalars_have_types),
          UNIT_TEST(test_what_is_not_usable_is_refused_by_line), UNIT_TEST(test_depth_is_bounded))
