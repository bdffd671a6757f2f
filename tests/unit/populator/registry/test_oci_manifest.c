/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/registry/oci_manifest.h"

#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "tests/unit/unit.h"

#define DIGEST_A "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define DIGEST_B "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define DIGEST_512                                                                                 \
  "sha512:9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca7"                        \
  "2323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043"
#define CONFIG                                                                                     \
  "\"config\":{\"mediaType\":\"" OCI_TYPE_CONFIG "\",\"digest\":\"" DIGEST_A "\",\"size\":7}"
#define LAYER(type) "{\"mediaType\":\"" type "\",\"digest\":\"" DIGEST_B "\",\"size\":123}"
#define MANIFEST(layers)                                                                           \
  "{\"schemaVersion\":2,\"mediaType\":\"" OCI_TYPE_MANIFEST "\"," CONFIG ",\"layers\":[" layers "]}"

static int
parse(const char *text, struct oci_manifest *ret_manifest, struct error **err)
{
  return oci_manifest_parse(text, strlen(text), ret_manifest, err);
}

static void
test_a_manifest(void)
{
  CLEANUP(oci_manifest_clear) struct oci_manifest manifest = {0};
  REQUIRE(parse(MANIFEST(LAYER(OCI_TYPE_LAYER) "," LAYER(OCI_TYPE_LAYER_GZIP)), &manifest, NULL) ==
          0);
  CHECK_STRING(manifest.config.digest, DIGEST_A);
  CHECK_STRING(manifest.config.media_type, OCI_TYPE_CONFIG);
  CHECK_NUMBER(manifest.config.size, 7);
  REQUIRE(manifest.layer_count == 2);
  CHECK_STRING(manifest.layers[0].blob.digest, DIGEST_B);
  CHECK_NUMBER(manifest.layers[0].blob.size, 123);
  CHECK_NUMBER(manifest.layers[0].compression, OCI_COMPRESSION_NONE);
  CHECK_NUMBER(manifest.layers[1].compression, OCI_COMPRESSION_GZIP);
}

static void
test_layers_of_every_type(void)
{
  static const struct {
    const char *manifest;
    enum oci_compression compression;
  } rows[] = {
      {MANIFEST(LAYER("application/vnd.oci.image.layer.v1.tar")), OCI_COMPRESSION_NONE},
      {MANIFEST(LAYER("application/vnd.oci.image.layer.v1.tar+gzip")), OCI_COMPRESSION_GZIP},
      {MANIFEST(LAYER("application/vnd.oci.image.layer.v1.tar+zstd")), OCI_COMPRESSION_ZSTD},
      {MANIFEST(LAYER("application/vnd.docker.image.rootfs.diff.tar")), OCI_COMPRESSION_NONE},
      {MANIFEST(LAYER("application/vnd.docker.image.rootfs.diff.tar.gzip")), OCI_COMPRESSION_GZIP},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(oci_manifest_clear) struct oci_manifest manifest = {0};
    CHECK_ROW(parse(rows[i].manifest, &manifest, NULL) == 0, rows[i].manifest);
    CHECK_ROW(manifest.layer_count == 1 && manifest.layers[0].compression == rows[i].compression,
              rows[i].manifest);
  }
}

static void
test_bad_manifests(void)
{
  static const struct {
    const char *text;
    const char *message;
  } rows[] = {
      {"", "not JSON"},
      {"[]", "not an object"},
      {"{}", "'schemaVersion'"},
      {"{\"schemaVersion\":1}", "schema 1, which is too old"},
      {"{\"schemaVersion\":3}", "unknown kind"},
      {"{\"schemaVersion\":2}", "'config' is left out"},
      {"{\"schemaVersion\":2," CONFIG "}", "'layers' has 0 entries"},
      {"{\"schemaVersion\":2," CONFIG ",\"layers\":{}}", "'layers' is not an array"},
      {MANIFEST(""), "'layers' has 0 entries"},
      {MANIFEST("1"), "layer 0: 'an item of a list' is not an object"},
      {MANIFEST("{}"), "layer 0"},
      {MANIFEST(LAYER("text/plain")), "type 'text/plain' is not that of a layer"},
      {MANIFEST(LAYER("application/vnd.oci.image.layer.v1.tar+encrypted")), "not that of a layer"},
      {MANIFEST("{\"digest\":\"" DIGEST_A "\",\"size\":1}"), "type '' is not that of a layer"},
      {MANIFEST("{\"digest\":\"sha256:00\",\"size\":1}"), "64 lower-case hexadecimal digits"},
      {MANIFEST("{\"digest\":\"../../etc\",\"size\":1}"), "sha256:… or sha512:… is needed"},
      {MANIFEST("{\"digest\":\"" DIGEST_A "\",\"size\":-1}"), "'size' is not the size"},
      {MANIFEST("{\"digest\":\"" DIGEST_A "\"}"), "'size' is not the size"},
      {MANIFEST("{\"size\":1}"), "'digest' is left out"},
      {"{\"schemaVersion\":2,\"config\":{\"size\":1},\"layers\":[]}", "config: 'digest'"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct oci_manifest manifest;
    CHECK_ROW(parse(rows[i].text, &manifest, &err) == -1, rows[i].text);
    CHECK_ROW(err && strstr(err->message, rows[i].message), err ? err->message : rows[i].text);
  }
}

static void
test_lists_have_a_bound(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(buffer_clear) struct buffer text = {0};
  (void)buffer_append_text(&text, "{\"schemaVersion\":2," CONFIG ",\"layers\":[");
  for (unsigned i = 0; i < 513; i++)
    (void)buffer_append_text(&text, i > 0 ? "," LAYER(OCI_TYPE_LAYER) : LAYER(OCI_TYPE_LAYER));
  (void)buffer_append_text(&text, "]}");
  struct oci_manifest manifest;
  CU_ASSERT_EQUAL(parse(text.data, &manifest, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "'layers' has 513 entries, wants 1 to 512");
}

/* ---- index -------------------------------------------------------------------------------------
 */

#define ENTRY(rest)                                                                                \
  "{\"mediaType\":\"" OCI_TYPE_MANIFEST "\",\"digest\":\"" DIGEST_A "\",\"size\":5" rest "}"
#define INDEX(entries) "{\"schemaVersion\":2,\"manifests\":[" entries "]}"

static void
test_an_index(void)
{
  static const char text[] = INDEX(
      ENTRY(",\"platform\":{\"os\":\"linux\",\"architecture\":"
            "\"arm64\",\"variant\":\"v8\"}") "," ENTRY(",\"annotations\":{\"org.opencontainers."
                                                       "image.ref.name\":\"latest\",\"x\":\"y\"}"));
  CLEANUP(oci_index_clear) struct oci_index index = {0};
  REQUIRE(oci_index_parse(text, strlen(text), &index, NULL) == 0);
  REQUIRE(index.count == 2);
  CHECK_STRING(index.choices[0].manifest.digest, DIGEST_A);
  CHECK_STRING(index.choices[0].os, "linux");
  CHECK_STRING(index.choices[0].architecture, "arm64");
  CHECK_STRING(index.choices[0].variant, "v8");
  CHECK_STRING(index.choices[0].name, NULL);
  CHECK_STRING(index.choices[1].architecture, NULL);
  CHECK_STRING(index.choices[1].name, "latest");
}

static void
test_bad_indexes(void)
{
  static const char *const rows[] = {
      "{}",
      INDEX(""),
      INDEX("1"),
      INDEX("{}"),
      INDEX(ENTRY(",\"platform\":\"amd64\"")),
      INDEX(ENTRY(",\"platform\":{\"architecture\":1}")),
      INDEX(ENTRY(",\"annotations\":[]")),
      INDEX("{\"digest\":\"sha1:00\",\"size\":5}"),
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct oci_index index;
    CHECK_ROW(oci_index_parse(rows[i], strlen(rows[i]), &index, &err) == -1, rows[i]);
    CHECK_ROW(err && err->code == ERROR_INVALID_ARGUMENT, rows[i]);
  }
}

static void
test_which_of_the_two(void)
{
  static const struct {
    const char *text;
    const char *media_type;
    int is_index; /* -1: refused */
  } rows[] = {
      {INDEX(ENTRY("")), NULL, 1},
      {INDEX(ENTRY("")), OCI_TYPE_INDEX, 1},
      {INDEX(ENTRY("")), OCI_TYPE_DOCKER_INDEX, 1},
      {INDEX(ENTRY("")), "application/octet-stream", 1},
      {INDEX(ENTRY("")), OCI_TYPE_MANIFEST, -1},
      {MANIFEST(LAYER(OCI_TYPE_LAYER)), NULL, 0},
      {MANIFEST(LAYER(OCI_TYPE_LAYER)), OCI_TYPE_INDEX, 0}, /* its own word counts more */
      {"{\"schemaVersion\":2," CONFIG ",\"layers\":[]}", OCI_TYPE_INDEX, -1},
      {"{\"schemaVersion\":2,\"mediaType\":\"" OCI_TYPE_INDEX "\",\"layers\":[]}", NULL, -1},
      {"{\"schemaVersion\":2,\"layers\":[],\"manifests\":[]}", NULL, -1},
      {"{\"schemaVersion\":1,\"fsLayers\":[]}", NULL, -1},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    bool is_index = false;
    int r = oci_document_is_index(rows[i].text, strlen(rows[i].text), rows[i].media_type, &is_index,
                                  NULL);
    CHECK_ROW((r < 0 ? -1 : is_index) == rows[i].is_index, rows[i].text);
  }
}

/* ---- configuration -----------------------------------------------------------------------------
 */

static void
test_a_configuration(void)
{
  static const char text[] =
      "{\"architecture\":\"arm64\",\"os\":\"linux\",\"variant\":\"v8\",\"config\":{\"Env\":["
      "\"PATH=/bin\",\"A_KUBEVIRT_IO_B=x=y\",\"EMPTY=\",\"nothing\",\"=nobody\",\"PATH=/sbin\"]},"
      "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"" DIGEST_A "\",\"" DIGEST_512 "\"]}}";
  CLEANUP(oci_config_clear) struct oci_config config = {0};
  REQUIRE(oci_config_parse(text, strlen(text), &config, NULL) == 0);
  CHECK_STRING(config.architecture, "arm64");
  CHECK_STRING(config.os, "linux");
  CHECK_STRING(config.variant, "v8");
  CHECK_NUMBER(config.env.count, 3);
  CHECK_STRING(string_map_get(&config.env, "PATH"), "/sbin");
  CHECK_STRING(string_map_get(&config.env, "A_KUBEVIRT_IO_B"), "x=y");
  CHECK_STRING(string_map_get(&config.env, "EMPTY"), "");
  REQUIRE(config.diff_id_count == 2);
  CHECK_STRING(config.diff_ids[1], DIGEST_512);
}

static void
test_a_configuration_may_be_empty(void)
{
  CLEANUP(oci_config_clear) struct oci_config config = {0};
  REQUIRE(oci_config_parse("{\"config\":null}", 15, &config, NULL) == 0);
  CHECK_NUMBER(config.env.count, 0);
  CHECK_NUMBER(config.diff_id_count, 0);
}

static void
test_bad_configurations(void)
{
  static const char *const rows[] = {
      "",
      "[]",
      "{\"architecture\":1}",
      "{\"config\":[]}",
      "{\"config\":{\"Env\":{}}}",
      "{\"config\":{\"Env\":[1]}}",
      "{\"rootfs\":{\"diff_ids\":[\"x\"]}}",
      "{\"rootfs\":{\"diff_ids\":[1]}}",
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct oci_config config;
    CHECK_ROW(oci_config_parse(rows[i], strlen(rows[i]), &config, NULL) == -1, rows[i]);
  }
}

/* ---- digests -----------------------------------------------------------------------------------
 */

static void
test_digests_are_compared(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  const struct oci_descriptor right = {.digest = (char *)DIGEST_A, .size = 5};
  const struct oci_descriptor longer = {.digest = (char *)DIGEST_A, .size = 6};
  CU_ASSERT_EQUAL(oci_descriptor_check(&right, "hello", 5, NULL), 0);
  CU_ASSERT_EQUAL(oci_descriptor_check(&right, "hallo", 5, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "not " DIGEST_A " as it should");
  CU_ASSERT_EQUAL(oci_descriptor_check(&longer, "hello", 5, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "has 5 bytes, not 6");
  CU_ASSERT_EQUAL(oci_digest_check(DIGEST_512, "hello", 5, NULL), 0);
  CU_ASSERT_EQUAL(oci_digest_check("md5:0", "hello", 5, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "sha256");
  CLEANUP(freep) char *digest = oci_digest_of("hello", 5);
  CHECK_STRING(digest, DIGEST_A);
}

UNIT_MAIN("populator/registry/oci_manifest", UNIT_TEST(test_a_manifest),
          UNIT_TEST(test_layers_of_every_type), UNIT_TEST(test_bad_manifests),
          UNIT_TEST(test_lists_have_a_bound), UNIT_TEST(test_an_index), UNIT_TEST(test_bad_indexes),
          UNIT_TEST(test_which_of_the_two), UNIT_TEST(test_a_configuration),
          UNIT_TEST(test_a_configuration_may_be_empty), UNIT_TEST(test_bad_configurations),
          UNIT_TEST(test_digests_are_compared))
