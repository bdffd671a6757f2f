/* SPDX-License-Identifier: Apache-2.0 */
/* The clusters of the configuration file by their id, connected when first asked for.
 * The file is looked at on every lookup and re-read when it changed. A changed entry is connected
 * anew, calls under way finish on the old connection. A file that cannot be read or parsed any more
 * leaves what was read before in force, and says so in the log. */
#ifndef LIB_CEPH_CLUSTERS_H
#define LIB_CEPH_CLUSTERS_H

#include "lib/ceph/cluster.h"

struct clusters;

/* Reads the file, connects to nothing yet. fence may be NULL; it must outlive the result. */
int clusters_open(const char *path, struct fence *fence, struct clusters **ret_clusters,
                  struct error **err);
void clusters_close(struct clusters *clusters);
DEFINE_CLEANUP(struct clusters *, clusters_close)

/* A new reference. id NULL or "" means the only cluster there is: INVALID_ARGUMENT where there are
 * several, NOT_FOUND for an id that is not in the file, UNAVAILABLE when it cannot be connected. */
int clusters_get(struct clusters *clusters, const char *id, struct cluster **ret_cluster,
                 struct error **err);

/* What the file says of a cluster, which is not connected to; to be cleared. */
int clusters_config(struct clusters *clusters, const char *id, struct cluster_config *ret_config,
                    struct error **err);

struct cluster_ids {
  char **ids;
  size_t count;
};
/* The ids in the file now, sorted. */
void clusters_ids(struct clusters *clusters, struct cluster_ids *ret_ids);
void cluster_ids_clear(struct cluster_ids *ids);

#endif
