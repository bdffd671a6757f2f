/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/cluster_config.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static int
parse(const char *json, struct cluster_configs *ret_configs, struct error **err)
{
  return cluster_configs_parse(json, strlen(json), ret_configs, err);
}

static void
test_every_field_arrives(void)
{
  struct cluster_configs configs;
  CLEANUP(error_freep) struct error *err = NULL;
  REQUIRE(parse("{\"clusters\": ["
                "{\"clusterID\": \"prod\", \"monitors\": [\"10.0.0.1:6789\", \"10.0.0.2\"],"
                " \"user\": \"imprint\", \"keyFile\": \"/keys/prod\"},"
                "{\"clusterID\": \"test\", \"confFile\": \"/ceph.conf\", \"keyring\": \"/ring\"}"
                "]}\n",
                &configs, &err) == 0);
  REQUIRE(configs.count == 2);
  const struct cluster_config *prod = &configs.items[0], *test = &configs.items[1];
  CHECK_STRING(prod->cluster_id, "prod");
  CHECK_STRING(prod->monitors, "10.0.0.1:6789,10.0.0.2");
  CHECK_STRING(prod->conf_file, NULL);
  CHECK_STRING(prod->user, "imprint");
  CHECK_STRING(prod->key_file, "/keys/prod");
  CHECK_STRING(prod->keyring, NULL);
  CHECK_STRING(test->cluster_id, "test");
  CHECK_STRING(test->monitors, NULL);
  CHECK_STRING(test->conf_file, "/ceph.conf");
  CHECK_STRING(test->user, "admin"); /* as everywhere in Ceph */
  CHECK_STRING(test->key_file, NULL);
  CHECK_STRING(test->keyring, "/ring");
  cluster_configs_clear(&configs);
  CHECK_NUMBER(configs.count, 0);
}

static void
check_refused(const char *json, const char *message)
{
  struct cluster_configs configs = {.count = 42};
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_ROW(parse(json, &configs, &err) == -1, json);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, message);
  CHECK_NUMBER(configs.count, 42);
}

static void
test_what_is_not_json_is_refused_with_the_place(void)
{
  check_refused("", "not valid JSON near byte 0");
  check_refused(" \n", "not valid JSON");
  check_refused("clusters", "not valid JSON near byte 0");
  check_refused("{\"clusters\": [}", "not valid JSON near byte 14");
  check_refused("{\"clusters\": [{\"clusterID\": \"a\", \"confFile\": \"/c\"}]", "not valid JSON");
  check_refused("{\"clusters\": [{\"clusterID\": \"a\", \"confFile\": \"/c\"}]} {}",
                "not valid JSON");
  check_refused("{\"clusters\": [{\"clusterID\": \"a\", \"confFile\": \"/c\"},]}",
                "not valid JSON");
  check_refused("{\"clusters\": [{\"clusterID\": \"\xff\"}]}", "not valid JSON");
  check_refused("null", "not valid JSON near byte 4: it ends too early");
}

static void
test_json_cut_at_any_byte_is_refused(void)
{
  static const char json[] = "{\"clusters\": [{\"clusterID\": \"a\", \"confFile\": \"/c\"}]}";
  struct cluster_configs configs;
  CLEANUP(error_freep) struct error *err = NULL;
  for (size_t len = 0; len < sizeof(json) - 1; len++) {
    CU_ASSERT_EQUAL(cluster_configs_parse(json, len, &configs, &err), -1);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "it ends too early");
  }
  REQUIRE(cluster_configs_parse(json, sizeof(json) - 1, &configs, &err) == 0);
  cluster_configs_clear(&configs);
}

static void
test_another_form_is_refused(void)
{
  static const char *const rows[] = {"null\n",
                                     "[]",
                                     "1\n",
                                     "\"clusters\"",
                                     "{}",
                                     "{\"clusters\": null}",
                                     "{\"clusters\": {}}",
                                     "{\"clusters\": \"x\"}",
                                     "{\"Clusters\": []}"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    check_refused(rows[i], "wants an object with a list 'clusters'");
  check_refused("{\"clusters\": []}", "clusters: has 0 entries, wants 1 to 1000");
  check_refused("{\"clusters\": [1]}", "clusters[0]: not an object");
  check_refused("{\"clusters\": [{\"clusterID\": \"a\", \"confFile\": \"/c\"}, null]}",
                "clusters[1]: not an object");
}

static void
test_too_many_clusters_are_refused(void)
{
  enum { MORE = 1000 };
  char more[2 * MORE + 1] = {0};
  for (size_t i = 0; i < MORE; i++) {
    more[2 * i] = ',';
    more[2 * i + 1] = '1';
  }
  CLEANUP(freep) char *json = xasprintf("{\"clusters\": [1%s]}", more);
  check_refused(json, "clusters: has 1001 entries, wants 1 to 1000");
}

/* The given fields, with the rest of what a cluster needs in front. */
static void
check_cluster_refused(const char *fields, const char *message)
{
  CLEANUP(freep) char *json = xasprintf("{\"clusters\": [{%s}]}", fields);
  check_refused(json, message);
}

static void
test_a_cluster_needs_a_good_id(void)
{
  static const char *const bad_ids[] = {
      "a b", "a/b", "a:b", "-a", ".", "a@b", "\xc3\xa9", "0123456789012345678901234567890123456"};
  check_cluster_refused("\"confFile\": \"/c\"", "clusters[0].clusterID: needed");
  check_cluster_refused("\"clusterID\": \"\", \"confFile\": \"/c\"",
                        "clusters[0].clusterID: not a string with text");
  for (size_t i = 0; i < sizeof(bad_ids) / sizeof(bad_ids[0]); i++) {
    CLEANUP(freep)
    char *fields = xasprintf("\"clusterID\": \"%s\", \"confFile\": \"/c\"", bad_ids[i]);
    check_cluster_refused(fields, "clusters[0].clusterID: needed, at most 36 letters");
  }
}

static void
test_fields_of_another_type_are_refused_by_name(void)
{
  static const char *const names[] = {"clusterID", "confFile", "user", "keyFile", "keyring"};
  static const char *const values[] = {"1", "null", "true", "[]", "{}", "\"\""};
  for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
    for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
      CLEANUP(freep) char *fields = xasprintf("\"%s\": %s", names[n], values[v]);
      CLEANUP(freep)
      char *message = xasprintf("clusters[0].%s: not a string with text", names[n]);
      check_cluster_refused(fields, message);
    }
  }
}

static void
test_monitors_are_a_list_of_addresses(void)
{
  static const struct {
    const char *monitors;
    const char *message;
  } rows[] = {
      {"\"10.0.0.1\"", "clusters[0].monitors: not a list of addresses"},
      {"null\n", "clusters[0].monitors: not a list of addresses"},
      {"{}", "clusters[0].monitors: not a list of addresses"},
      {"[]", "clusters[0].monitors: not a list of addresses"},
      {"[1]", "clusters[0].monitors[0]: not a string with text"},
      {"[\"10.0.0.1\", null]", "clusters[0].monitors[1]: not a string with text"},
      {"[\"10.0.0.1\", \"\"]", "clusters[0].monitors[1]: not a string with text"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(freep)
    char *fields = xasprintf("\"clusterID\": \"a\", \"monitors\": %s", rows[i].monitors);
    check_cluster_refused(fields, rows[i].message);
  }
}

/* A C string would end at it: what was written is not what would be used. */
static void
test_a_nul_character_is_refused(void)
{
  check_cluster_refused("\"clusterID\": \"a\\u0000b\", \"confFile\": \"/c\"",
                        "clusters[0].clusterID: not a string with text");
  check_cluster_refused("\"clusterID\": \"a\", \"confFile\": \"/c\\u0000/d\"",
                        "clusters[0].confFile: not a string with text");
  check_cluster_refused("\"clusterID\": \"a\", \"monitors\": [\"10.0.0.1\\u0000x\"]",
                        "clusters[0].monitors[0]: not a string with text");
}

static void
test_an_unknown_field_is_refused_by_name(void)
{
  check_cluster_refused("\"clusterID\": \"a\", \"confFile\": \"/c\", \"key\": \"secret\"",
                        "clusters[0].key: unknown field; known are clusterID, monitors, confFile, "
                        "user, keyFile, keyring");
  check_cluster_refused("\"clusterId\": \"a\"", "clusters[0].clusterId: unknown field");
}

static void
test_fields_that_exclude_each_other(void)
{
  check_cluster_refused("\"clusterID\": \"a\"",
                        "clusters[0] ('a'): one of monitors and confFile is needed");
  check_cluster_refused("\"clusterID\": \"a\", \"confFile\": \"/c\", \"monitors\": [\"m\"]",
                        "clusters[0] ('a'): one of monitors and confFile is needed");
  check_cluster_refused("\"clusterID\": \"a\", \"confFile\": \"/c\", \"keyFile\": \"/k\", "
                        "\"keyring\": \"/r\"",
                        "clusters[0] ('a'): keyFile and keyring exclude each other");
}

static void
test_an_id_stands_once(void)
{
  check_refused("{\"clusters\": [{\"clusterID\": \"a\", \"confFile\": \"/1\"},"
                "{\"clusterID\": \"b\", \"confFile\": \"/2\"},"
                "{\"clusterID\": \"a\", \"confFile\": \"/3\"}]}",
                "clusters[2].clusterID: 'a' is that of clusters[0] already");
}

/* JSON leaves open which one counts; whoever wrote it meant one of them. */
static void
test_a_field_given_twice_is_refused(void)
{
  const char *twice = "a field is there twice";
  check_refused("{\"clusters\": [{\"clusterID\": \"a\", \"confFile\": \"/1\","
                " \"confFile\": \"/2\"}]}",
                twice);
  check_refused("{\"clusters\": [{\"clusterID\": \"a\", \"clusterI\\u0044\": \"b\","
                " \"confFile\": \"/1\"}]}",
                twice);
  check_refused("{\"clusters\": [], \"clusters\": [{\"clusterID\": \"a\", \"confFile\": \"/1\"}]}",
                twice);
  struct cluster_configs configs;
  REQUIRE(parse("{\"clusters\": [{\"clusterID\": \"a\", \"user\": \"q:\\\":\\\\\","
                " \"monitors\": [\"[v2:10.0.0.1:3300,v1:10.0.0.1:6789]\"]}]}",
                &configs, NULL) == 0); /* colons in strings are none */
  CHECK_STRING(configs.items[0].user, "q:\":\\");
  cluster_configs_clear(&configs);
}

static void
test_what_stands_beside_the_clusters_is_refused_by_name(void)
{
  check_refused("{\"cluster\": 1, \"clusters\": [{\"clusterID\": \"a\", \"confFile\": \"/1\"}]}",
                "'cluster': unknown field; known is clusters");
}

static void
test_nothing_may_follow_a_nul(void)
{
  static const char json[] =
      "{\"clusters\": [{\"clusterID\": \"a\", \"confFile\": \"/1\"}]}\0{\"more\": 1}";
  struct cluster_configs configs;
  CLEANUP(error_freep) struct error *err = NULL;
  CU_ASSERT_EQUAL(cluster_configs_parse(json, sizeof(json) - 1, &configs, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "it holds a NUL character");
}

static void
test_equal_compares_every_field(void)
{
  const struct cluster_config base = {
      .cluster_id = (char *)"a", .monitors = (char *)"m", .user = (char *)"u"};
  struct cluster_config copy = {0};
  cluster_config_copy(&copy, &base);
  CU_ASSERT(cluster_config_equal(&base, &copy));
  CU_ASSERT_PTR_NOT_EQUAL(base.cluster_id, copy.cluster_id);
  char **fields[] = {&copy.cluster_id, &copy.monitors, &copy.conf_file,
                     &copy.user,       &copy.key_file, &copy.keyring};
  for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
    char *kept = *fields[i];
    *fields[i] = (char *)"other";
    CU_ASSERT_FALSE(cluster_config_equal(&base, &copy));
    *fields[i] = kept ? NULL : (char *)"";
    CU_ASSERT_FALSE(cluster_config_equal(&copy, &base));
    *fields[i] = kept;
  }
  cluster_config_clear(&copy);
  CU_ASSERT_PTR_NULL(copy.cluster_id);
  cluster_config_clear(&copy);
}

UNIT_MAIN("lib/ceph/cluster_config", UNIT_TEST(test_every_field_arrives),
          UNIT_TEST(test_what_is_not_json_is_refused_with_the_place),
          UNIT_TEST(test_json_cut_at_any_byte_is_refused), UNIT_TEST(test_another_form_is_refused),
          UNIT_TEST(test_too_many_clusters_are_refused), UNIT_TEST(test_a_cluster_needs_a_good_id),
          UNIT_TEST(test_fields_of_another_type_are_refused_by_name),
          UNIT_TEST(test_monitors_are_a_list_of_addresses),
          UNIT_TEST(test_a_nul_character_is_refused),
          UNIT_TEST(test_an_unknown_field_is_refused_by_name),
          UNIT_TEST(test_fields_that_exclude_each_other), UNIT_TEST(test_an_id_stands_once),
          UNIT_TEST(test_a_field_given_twice_is_refused),
          UNIT_TEST(test_what_stands_beside_the_clusters_is_refused_by_name),
          UNIT_TEST(test_nothing_may_follow_a_nul), UNIT_TEST(test_equal_compares_every_field))
