/* SPDX-License-Identifier: Apache-2.0 */
/* Where a cluster's monitors listen, as the kernel's client wants to be told: of each protocol the
 * addresses that the monitors themselves believe to have. (The kernel insists on that: a monitor
 * that it reached by another address is turned away.) */
#ifndef LIB_CEPH_MONITORS_H
#define LIB_CEPH_MONITORS_H

#include "lib/ceph/cluster.h"

enum monitor_protocol { MONITOR_V1, MONITOR_V2 };

/* "10.0.0.1:6789,10.0.0.2:6789", to be freed. NOT_FOUND when none speaks the protocol. */
int monitors_addresses(struct cluster *cluster, enum monitor_protocol protocol,
                       char **ret_addresses, struct error **err);
/* The same, of a map as the monitors print it. */
int monitors_addresses_of_map(const char *json, enum monitor_protocol protocol,
                              char **ret_addresses, struct error **err);

#endif
