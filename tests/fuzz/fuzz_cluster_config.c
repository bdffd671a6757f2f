/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file. What is taken names 1 to 1000 clusters with ids of their own, each with a
 * way to its monitors; what is refused is refused with a reason. */
#include <string.h>

#include "lib/base/text.h"
#include "lib/ceph/cluster_config.h"
#include "tests/fuzz/fuzz.h"

static void
check_config(const struct cluster_config *config)
{
  CHECK(config->cluster_id && text_is_plain_name(config->cluster_id, CLUSTER_ID_MAX));
  CHECK(config->user && *config->user);
  CHECK(!config->monitors != !config->conf_file);
  CHECK(!config->monitors || *config->monitors);
  CHECK(!config->key_file || !config->keyring);
  struct cluster_config copy = {0};
  cluster_config_copy(&copy, config);
  CHECK(cluster_config_equal(config, &copy));
  cluster_config_clear(&copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct cluster_configs configs;
  if (cluster_configs_parse((const char *)data, size, &configs, &err) < 0) {
    CHECK(err && err->code == ERROR_INVALID_ARGUMENT && *err->message);
    return 0;
  }
  CHECK(!err && configs.count >= 1 && configs.count <= 1000);
  for (size_t i = 0; i < configs.count; i++) {
    check_config(&configs.items[i]);
    for (size_t j = 0; j < i; j++)
      CHECK(strcmp(configs.items[i].cluster_id, configs.items[j].cluster_id) != 0);
  }
  cluster_configs_clear(&configs);
  return 0;
}
