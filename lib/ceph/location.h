/* SPDX-License-Identifier: Apache-2.0 */
/* A place where images lie: a pool of a cluster, and an RBD namespace in it ("" for none).
 * Cheap to make; each call makes its own, so there is nothing to lock. */
#ifndef LIB_CEPH_LOCATION_H
#define LIB_CEPH_LOCATION_H

#include <rados/librados.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/ceph/cluster.h"

struct location {
  struct cluster *cluster;
  rados_ioctx_t ioctx;
  int64_t pool_id;
  char *pool;
  char *name_space;
  char *label; /* "pool" or "pool/namespace": for messages */
};

/* NOT_FOUND when there is no such pool. A namespace is not checked: what is done in it fails. */
int location_open(struct cluster *cluster, const char *pool, const char *name_space,
                  struct location **ret_location, struct error **err);
int location_open_by_id(struct cluster *cluster, int64_t pool_id, const char *name_space,
                        struct location **ret_location, struct error **err);
/* The same place once more, for one that outlives the caller's. */
int location_reopen(const struct location *location, struct location **ret_location,
                    struct error **err);
void location_close(struct location *location);
DEFINE_CLEANUP(struct location *, location_close)

/* Whether images can be made here: the pool is meant for RBD and the namespace exists.
 * FAILED_PRECONDITION or NOT_FOUND with what to do about it. */
int location_check(struct location *location, struct error **err);

/* ceph_error_set() for what was done at this location. */
#define location_error_set(location, err, ...)                                                     \
  (location_error_make((location), (err), __VA_ARGS__), -1)

void location_error_make(struct location *location, struct error **err, int r, const char *format,
                         ...) __attribute__((format(printf, 4, 5)));

struct locations {
  struct location **items;
  size_t count;
};
/* Every place of the cluster that images can lie in, in a stable order. Places that this client may
 * not read are left out. */
int locations_list(struct cluster *cluster, struct locations *ret_locations, struct error **err);
void locations_clear(struct locations *locations);

#endif
