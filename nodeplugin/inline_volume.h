/* SPDX-License-Identifier: Apache-2.0 */
/* The image of an ephemeral inline volume: a clone that is made for one pod and goes with it.
 *
 * Its name follows from kubelet's id of the volume, so a repeated call finds it, and its record is
 * written in one step behind the clone: without it, it is the remains of a call that died. */
#ifndef NODEPLUGIN_INLINE_VOLUME_H
#define NODEPLUGIN_INLINE_VOLUME_H

#include "csi/volume/inline_request.h"
#include "nodeplugin/volume.h"

struct inline_order {
  const char *kubelet_id;
  const char *target;
  const struct inline_request *request;
};

/* Finds it or makes it; *ret_is_new says which. ALREADY_EXISTS when it was made for another
 * request.
 */
int inline_volume_make(struct node *node, const struct inline_order *order,
                       struct volume *ret_volume, bool *ret_is_new, struct error **err);

/* Which volume kubelet means; *ret_found is false when there is none. Asks Ceph where this node has
 * not noted it. */
int inline_volume_find(struct node *node, const char *kubelet_id, struct volume_id *ret_id,
                       bool *ret_found, struct error **err);
/* Takes its device away and puts the image into the trash, from where the collector removes it;
 * fine when it is gone. FAILED_PRECONDITION while it is mounted. */
int inline_volume_destroy(struct node *node, const struct volume_id *id, struct error **err);

/* The handle of an image, in parts. */
void inline_volume_id(const struct location *location, const char *image_id,
                      struct volume_id *ret_id);

#endif
