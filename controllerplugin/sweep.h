/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for what processes that were killed have left behind, and mends it: snapshots that belong
 * to nobody, deleted volumes that nobody moved on, copies that were not finished. */
#ifndef CONTROLLERPLUGIN_SWEEP_H
#define CONTROLLERPLUGIN_SWEEP_H

#include "controllerplugin/controller.h"
#include "lib/ceph/header.h"
#include "lib/ceph/location.h"

/* Goes through all places of a cluster, and has the purger look at each. 0 when all is done, -1
 * when the cluster should be looked through again. */
int sweep_cluster(struct controller *controller, const char *id);

/* Removes the snapshots of an image that belong to nobody; its header was read. Whether to look
 * again later. */
bool sweep_snapshots(struct location *location, const char *image_id, const struct header *header);

#endif
