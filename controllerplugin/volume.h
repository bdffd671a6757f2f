/* SPDX-License-Identifier: Apache-2.0 */
/* A volume or snapshot that a caller named by its handle: found, or NOT_FOUND. */
#ifndef CONTROLLERPLUGIN_VOLUME_H
#define CONTROLLERPLUGIN_VOLUME_H

#include "controllerplugin/controller.h"
#include "csi/volume/volume_id.h"
#include "lib/ceph/header.h"

struct volume {
  struct volume_id id;
  struct location *location;
  char *image_name;
  struct header header;
};

/* Finds a finished volume that is not deleted, with its header. `field` is how the request calls
 * the handle, for messages. INVALID_ARGUMENT when it is empty, NOT_FOUND when there is no such
 * volume. */
int volume_find(struct controller *controller, const char *field, const char *volume_id,
                struct volume *ret_volume, struct error **err);
void volume_clear(struct volume *volume);

struct snapshot {
  struct snapshot_id id;
  struct location *location;
  char *image_name;     /* of the image it belongs to, which may be a deleted volume's */
  struct header header; /* … */
  struct snap snap;
};

/* Finds a CSI snapshot. */
int snapshot_find(struct controller *controller, const char *field, const char *snapshot_id,
                  struct snapshot *ret_snapshot, struct error **err);
void snapshot_clear(struct snapshot *snapshot);

/* The location of a handle's cluster and pool. NOT_FOUND when the pool is gone, FAILED_PRECONDITION
 * when the cluster is not in the configuration. */
int volume_locate(struct controller *controller, const struct volume_id *id,
                  struct location **ret_location, struct error **err);
/* All snapshots of an image; NOT_FOUND when the image is gone. */
int snapshots_read(struct location *location, const char *image_id, struct snaps *ret_snaps,
                   struct error **err);
/* A CSI snapshot's own, as opposed to what an administrator or a clone under way has made. */
bool snapshot_is_ours(const struct snap *snap);
/* One that a clone of a live volume stands on while it is made (passing_snapshot.h). */
bool snapshot_is_passing(const struct snap *snap);
/* Whether any of them is one that somebody may restore from, so that its image must stay within
 * reach. */
bool snapshots_are_needed(const struct snaps *snaps);

/* As the answers of several RPCs describe them; to be freed with the answer. */
Csi__V1__Volume *volume_describe(const struct volume_id *id, const struct header *header);
Csi__V1__Snapshot *snapshot_describe(const struct volume_id *volume, const struct snap *snap);

#endif
