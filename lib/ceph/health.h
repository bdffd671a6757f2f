/* SPDX-License-Identifier: Apache-2.0 */
/* How a cluster fares, as its monitors see it: whether it can serve volumes, and what is wrong. */
#ifndef LIB_CEPH_HEALTH_H
#define LIB_CEPH_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/string_map.h"
#include "lib/ceph/cluster.h"

struct health {
  char *status; /* "HEALTH_OK", "HEALTH_WARN", "HEALTH_ERR" */
  char *checks; /* what the cluster complains of, "CODE: sentence; …"; "" */
  /* Reads and writes go on: warnings do not count, but a cluster in error, without an OSD, or with
   * data that cannot be reached, does. */
  bool is_serving;
  uint64_t osds;
  uint64_t osds_up;
  uint64_t bytes_total;
  uint64_t bytes_used;
  struct string_map pools; /* how many copies each keeps; those that are meant for RBD */
};

int health_read(struct cluster *cluster, struct health *ret_health, struct error **err);
void health_clear(struct health *health);

/* The same, of what the monitors print: `ceph status` and `ceph osd dump`. */
int health_of_maps(const char *status, const char *osd_map, struct health *ret_health,
                   struct error **err);

#endif
