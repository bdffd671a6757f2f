/* SPDX-License-Identifier: Apache-2.0 */
/* The file that names the Ceph clusters to serve:
 *
 *   {"clusters": [{"clusterID": "prod", "monitors": ["10.0.0.1:6789", "10.0.0.2:6789"],
 *                  "user": "imprint", "keyFile": "/etc/imprint/keys/prod"}]}
 *
 * In place of monitors, "confFile" may name a ceph.conf; in place of keyFile, "keyring" may name a
 * keyring file. Keys stay in their own files, so this one can be a ConfigMap. */
#ifndef LIB_CEPH_CLUSTER_CONFIG_H
#define LIB_CEPH_CLUSTER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"

/* Longest clusterID: that of an fsid, which most people use. */
#define CLUSTER_ID_MAX 36

struct cluster_config {
  char *cluster_id;
  char *monitors;  /* comma separated, or NULL */
  char *conf_file; /* or NULL */
  char *user;      /* without "client." */
  char *key_file;  /* or NULL */
  char *keyring;   /* or NULL */
};

struct cluster_configs {
  struct cluster_config *items;
  size_t count;
};

int cluster_configs_parse(const char *json, size_t len, struct cluster_configs *ret_configs,
                          struct error **err);
void cluster_configs_clear(struct cluster_configs *configs);

bool cluster_config_equal(const struct cluster_config *a, const struct cluster_config *b);
void cluster_config_copy(struct cluster_config *to, const struct cluster_config *from);
void cluster_config_clear(struct cluster_config *config);

#endif
