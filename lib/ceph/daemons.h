/* SPDX-License-Identifier: Apache-2.0 */
/* Where a cluster's daemons listen: what a client of it must be able to connect to. A sandbox is
 * told of them before it is sealed.
 *
 * A daemon that is restarted takes another port of the cluster's range, so each host counts with
 * the whole range; a host that joins later is not known. */
#ifndef LIB_CEPH_DAEMONS_H
#define LIB_CEPH_DAEMONS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/base/error.h"
#include "lib/ceph/cluster.h"

struct daemons {
  struct sockaddr_storage *addresses; /* with the ports that were named; 0: none was */
  size_t count;
  uint16_t first_port; /* of the range that daemons choose from */
  uint16_t last_port;
};

/* The ports of monitors, which need not be named. */
#define DAEMONS_MONITOR_PORT_V1 6789
#define DAEMONS_MONITOR_PORT_V2 3300

/* The monitors that a configuration names, for the first connection. Names are resolved; monitors
 * that only the DNS knows (by SRV records) are not found. *ret_key_files, which may be NULL, are
 * the files that a key is looked for in: separated by commas, to be freed. */
int daemons_of_config(const struct cluster_config *config, struct daemons *ret_daemons,
                      char **ret_key_files, struct error **err);
/* All monitors and OSDs that the cluster knows now. Managers, whose map may only be seen by
 * administrators, stand beside the monitors as a rule. */
int daemons_of_cluster(struct cluster *cluster, struct daemons *ret_daemons, struct error **err);
void daemons_clear(struct daemons *daemons);

/* Adds what mon_host says: "10.0.0.1,10.0.0.2:6789", "[v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0]",
 * "mon-a.example.com". */
void daemons_add_mon_host(struct daemons *daemons, const char *mon_host);
/* Adds every "public_addrs" of a map as the monitors print it. */
int daemons_add_map(struct daemons *daemons, const char *json, struct error **err);

#endif
