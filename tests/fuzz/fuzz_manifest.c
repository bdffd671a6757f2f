/* SPDX-License-Identifier: Apache-2.0 */
/* The documents of images, and credentials. What is taken has well-formed digests and lists within
 * their bounds; what is refused is refused with a reason. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/registry/auth_file.h"
#include "populator/registry/oci_manifest.h"
#include "populator/registry/oci_platform.h"
#include "populator/transfer/checksum.h"
#include "tests/fuzz/fuzz.h"

static void
check_descriptor(const struct oci_descriptor *descriptor)
{
  enum checksum_kind kind;
  CHECK(checksum_parse(descriptor->digest, &kind, NULL) == 0);
  CHECK(descriptor->size < INT64_MAX);
}

static void
try_manifest(const uint8_t *data, size_t size)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(oci_manifest_clear) struct oci_manifest manifest = {0};
  if (oci_manifest_parse(data, size, &manifest, &err) < 0) {
    CHECK(err && *err->message);
    return;
  }
  CHECK(manifest.layer_count >= 1 && manifest.layer_count <= 512);
  check_descriptor(&manifest.config);
  for (size_t i = 0; i < manifest.layer_count; i++)
    check_descriptor(&manifest.layers[i].blob);
}

static void
try_index(const uint8_t *data, size_t size)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(oci_index_clear) struct oci_index index = {0};
  if (oci_index_parse(data, size, &index, &err) < 0) {
    CHECK(err && *err->message);
    return;
  }
  CHECK(index.count >= 1 && index.count <= 4096);
  for (size_t i = 0; i < index.count; i++)
    check_descriptor(&index.choices[i].manifest);
  static const char *const platforms[] = {"amd64", "arm64/v8", "arm/v7"};
  for (size_t i = 0; i < 3; i++) {
    CLEANUP(oci_platform_clear) struct oci_platform platform = {0};
    const struct oci_choice *choice;
    CHECK(oci_platform_parse(platforms[i], &platform, NULL) == 0);
    if (oci_platform_choose(&platform, &index, &choice, NULL) == 0)
      CHECK(choice >= index.choices && choice < index.choices + index.count);
  }
}

static void
try_config(const uint8_t *data, size_t size)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(oci_config_clear) struct oci_config config = {0};
  if (oci_config_parse(data, size, &config, &err) < 0) {
    CHECK(err && *err->message);
    return;
  }
  CHECK(config.env.count <= 4096 && config.diff_id_count <= 512);
  for (size_t i = 0; i < config.env.count; i++)
    CHECK(*config.env.entries[i].key && !strchr(config.env.entries[i].key, '='));
}

static void
try_credentials(const uint8_t *data, size_t size)
{
  const struct reference reference = {.host = (char *)"h:5000", .repository = (char *)"a/b"};
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(credentials_clear) struct credentials credentials = {0};
  if (auth_file_parse(data, size, &reference, &credentials, &err) < 0) {
    CHECK(err && err->code == ERROR_INVALID_ARGUMENT && *err->message);
    return;
  }
  CHECK(!credentials.user == !credentials.password);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  bool is_index;
  (void)oci_document_is_index(data, size, size % 2 ? OCI_TYPE_INDEX : NULL, &is_index, NULL);
  try_manifest(data, size);
  try_index(data, size);
  try_config(data, size);
  try_credentials(data, size);
  return 0;
}
