/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file that helper programs (rbd-nbd, qemu-storage-daemon) read: where the
 * monitors are and which file holds the key. The key itself is not in it, and is on no command
 * line. */
#ifndef NODEPLUGIN_CEPH_CONF_H
#define NODEPLUGIN_CEPH_CONF_H

#include "lib/ceph/cluster_config.h"

/* Writes RUN_DIR/<clusterID>.conf, for root alone, in one step; *ret_path is to be freed. */
int ceph_conf_write(const char *run_dir, const struct cluster_config *config, char **ret_path,
                    struct error **err);

#endif
