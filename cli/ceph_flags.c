/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ceph_flags.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

static const char *conf = "/etc/ceph/ceph.conf";
static const char *id = "admin";
static const char *keyring;

static const struct flag flags[] = {
    {"conf", FLAG_TEXT, &conf, "FILE", "Ceph configuration (default /etc/ceph/ceph.conf)",
     "CEPH_CONF"},
    {"id", FLAG_TEXT, &id, "USER", "Ceph user without \"client.\" (default admin)", NULL},
    {"keyring", FLAG_TEXT, &keyring, "FILE", "keyring of that user", NULL},
};

const struct flag_set ceph_flags = {flags, sizeof(flags) / sizeof(flags[0])};

void
ceph_flags_config(struct cluster_config *ret_config)
{
  const char *user = text_starts_with(id, "client.") ? id + strlen("client.") : id;
  *ret_config = (struct cluster_config){.cluster_id = xstrdup("ceph"),
                                        .conf_file = xstrdup(conf),
                                        .user = xstrdup(user),
                                        .keyring = xstrdup(keyring)};
}

int
ceph_flags_connect(struct cluster **ret_cluster, struct error **err)
{
  struct cluster_config config;
  ceph_flags_config(&config);
  int r = cluster_connect(&config, NULL, ret_cluster, err);
  cluster_config_clear(&config);
  return r;
}

int
ceph_flags_open(const struct image_spec *spec, struct location **ret_location, struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  if (ceph_flags_connect(&cluster, err) < 0)
    return -1;
  return location_open(cluster, spec->pool, spec->name_space, ret_location, err);
}
