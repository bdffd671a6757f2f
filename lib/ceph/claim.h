/* SPDX-License-Identifier: Apache-2.0 */
/* A name that only one may have, kept in the pool as a small object of its own.
 * An image's name is unique by RBD; the name of a snapshot is unique only within its image, while
 * CSI wants it unique for the driver. So the name is claimed first, in one exclusive write. */
#ifndef LIB_CEPH_CLAIM_H
#define LIB_CEPH_CLAIM_H

#include "lib/ceph/location.h"

/* Longest owner. */
#define CLAIM_OWNER_MAX 128

/* Claims the name for owner. When somebody has it, *ret_owner is who (to be freed; it may be the
 * same owner), else NULL. */
int claim_take(struct location *location, const char *name, const char *owner, char **ret_owner,
               struct error **err);
/* Gives the name from one owner to another; ABORTED when `from` does not have it any more. */
int claim_pass(struct location *location, const char *name, const char *from, const char *to,
               struct error **err);
/* Gives the name up if owner has it; fine when he has not. */
int claim_drop(struct location *location, const char *name, const char *owner, struct error **err);
/* Where a name is claimed: the index of the first of `locations`, -1 when in none. */
int claim_find(const struct locations *locations, const char *name);

#endif
