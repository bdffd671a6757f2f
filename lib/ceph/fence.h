/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of a predecessor that died.
 *
 * A process that is killed while it changes an image leaves its watch and its exclusive lock
 * behind, and for the next 30 seconds Ceph takes it for alive. So each process writes the addresses
 * of its Ceph clients into its state folder and holds a file lock there. Whoever gets that file
 * lock knows that the one before is dead, and has Ceph blocklist its addresses: the watches and
 * locks go at once. A process that ends in order removes its entries.
 *
 * The state folder belongs to one program instance: in a pod, an emptyDir. */
#ifndef LIB_CEPH_FENCE_H
#define LIB_CEPH_FENCE_H

#include "lib/base/error.h"

struct fence;

/* Fails when another live process holds the folder. */
int fence_open(const char *state_dir, struct fence **ret_fence, struct error **err);
/* Ends in order: the clients were shut down, nothing is left to blocklist. */
void fence_close(struct fence *fence);
DEFINE_CLEANUP(struct fence *, fence_close)

/* The addresses that dead predecessors had in this cluster are handed to blocklist() one by one,
 * and forgotten once it returned 0. own_address is written down. */
int fence_join(struct fence *fence, const char *cluster_id, const char *own_address,
               int (*blocklist)(void *context, const char *address, struct error **err),
               void *context, struct error **err);
/* The client with this address was shut down in order. */
void fence_leave(struct fence *fence, const char *cluster_id, const char *own_address);

#endif
