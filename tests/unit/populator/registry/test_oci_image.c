/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/registry/oci_image.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

#define DIGEST_A "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define DIGEST_B "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void
test_configurations_can_be_read_back(void)
{
  for (unsigned i = 0; i < 2; i++) {
    CLEANUP(oci_config_clear) struct oci_config config = {0};
    const struct oci_platform platform = {.architecture = (char *)"arm64",
                                          .variant = i == 0 ? NULL : (char *)"v8"};
    CLEANUP(freep) char *text = oci_image_config(&platform, DIGEST_A);
    REQUIRE(oci_config_parse(text, strlen(text), &config, NULL) == 0);
    CHECK_STRING(config.architecture, "arm64");
    CHECK_STRING(config.variant, platform.variant);
    CHECK_STRING(config.os, "linux");
    REQUIRE(config.diff_id_count == 1);
    CHECK_STRING(config.diff_ids[0], DIGEST_A);
  }
}

static void
test_manifests_can_be_read_back(void)
{
  CLEANUP(oci_manifest_clear) struct oci_manifest manifest = {0};
  const struct oci_descriptor config = {
      .media_type = (char *)OCI_TYPE_CONFIG, .digest = (char *)DIGEST_A, .size = 5};
  const struct oci_descriptor layer = {
      .media_type = (char *)OCI_TYPE_LAYER_GZIP, .digest = (char *)DIGEST_B, .size = 1ULL << 50};
  CLEANUP(freep) char *text = oci_image_manifest(&config, &layer);
  bool is_index = true;
  REQUIRE(oci_document_is_index(text, strlen(text), OCI_TYPE_MANIFEST, &is_index, NULL) == 0);
  CU_ASSERT_FALSE(is_index);
  REQUIRE(oci_manifest_parse(text, strlen(text), &manifest, NULL) == 0);
  CHECK_STRING(manifest.config.digest, DIGEST_A);
  REQUIRE(manifest.layer_count == 1);
  CHECK_STRING(manifest.layers[0].blob.digest, DIGEST_B);
  CHECK_NUMBER(manifest.layers[0].blob.size, 1ULL << 50);
  CHECK_NUMBER(manifest.layers[0].compression, OCI_COMPRESSION_GZIP);
}

static void
test_indexes_can_be_read_back(void)
{
  const struct oci_descriptor manifest = {
      .media_type = (char *)OCI_TYPE_MANIFEST, .digest = (char *)DIGEST_A, .size = 7};
  static const char *const names[] = {NULL, "vms/debian:12"};
  for (size_t i = 0; i < 2; i++) {
    CLEANUP(oci_index_clear) struct oci_index index = {0};
    CLEANUP(freep) char *text = oci_image_index(&manifest, names[i]);
    bool is_index = false;
    REQUIRE(oci_document_is_index(text, strlen(text), OCI_TYPE_INDEX, &is_index, NULL) == 0);
    CU_ASSERT_TRUE(is_index);
    REQUIRE(oci_index_parse(text, strlen(text), &index, NULL) == 0);
    REQUIRE(index.count == 1);
    CHECK_STRING(index.choices[0].manifest.digest, DIGEST_A);
    CHECK_NUMBER(index.choices[0].manifest.size, 7);
    CHECK_STRING(index.choices[0].name, names[i]);
  }
}

static void
test_names_of_images(void)
{
  static const char *const good[] = {"12", "vms/debian:12", "host:5000/a/b@sha256:12", "a+b"};
  static const char *const bad[] = {"", "a b", "a\"b", "a\\b", "a\n", "\xc3\xa9"};
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
    CHECK_ROW(oci_image_check_name(good[i], NULL) == 0, good[i]);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    CHECK_ROW(oci_image_check_name(bad[i], NULL) == -1, bad[i]);
}

UNIT_MAIN("populator/registry/oci_image", UNIT_TEST(test_configurations_can_be_read_back),
          UNIT_TEST(test_manifests_can_be_read_back), UNIT_TEST(test_indexes_can_be_read_back),
          UNIT_TEST(test_names_of_images))
