/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to one Ceph cluster, shared by all calls and counted. One is enough for a process:
 * the library multiplexes, and each connection costs 16 threads and some 25 MiB. */
#ifndef LIB_CEPH_CLUSTER_H
#define LIB_CEPH_CLUSTER_H

#include <rados/librados.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/string_map.h"
#include "lib/ceph/cluster_config.h"
#include "lib/ceph/fence.h"

struct cluster {
  struct cluster_config config;
  rados_t rados;
  char *address;                             /* of this client, as the blocklist wants it */
  struct open_images *images;                /* see image.h */
  struct fence *fence;                       /* NULL where nobody keeps a state folder */
  void (*on_stuck)(const struct error *err); /* see image_writer.h; or NULL */
};

/* Connects, and fences what a dead predecessor left. Gives up after some seconds. */
int cluster_connect(const struct cluster_config *config, struct fence *fence,
                    struct cluster **ret_cluster, struct error **err);
struct cluster *cluster_ref(struct cluster *cluster);
/* The last one shuts the connection down. */
void cluster_unref(struct cluster *cluster);
DEFINE_CLEANUP(struct cluster *, cluster_unref)

const char *cluster_id(const struct cluster *cluster);
/* By which the cluster knows this client; another one after a reconnect. */
uint64_t cluster_client_id(const struct cluster *cluster);
/* Has the cluster throw a client out by its address: its watches and locks go at once. Only for a
 * client whose process is certainly dead. */
int cluster_fence_client(struct cluster *cluster, const char *address, struct error **err);
/* Each result of a call goes through here: Ceph says by ESHUTDOWN that it has blocklisted us. */
void cluster_note_result(struct cluster *cluster, int r);
/* True once that was said: the connection is of no more use and must be replaced. */
bool cluster_is_blocklisted(const struct cluster *cluster);

/* Bytes that can still be written to a pool, by the cluster's own reckoning of replicas and ratios.
 */
int cluster_pool_available(struct cluster *cluster, const char *pool, uint64_t *ret_bytes,
                           struct error **err);

/* The addresses that the cluster has blocklisted, as keys: whoever has one can do nothing any more.
 */
int cluster_read_blocklist(struct cluster *cluster, struct string_map *ret_addresses,
                           struct error **err);

struct pool_names {
  char **names;
  size_t count;
};
/* The pools that are meant for RBD. */
int cluster_rbd_pools(struct cluster *cluster, struct pool_names *ret_pools, struct error **err);
void pool_names_clear(struct pool_names *pools);

#endif
