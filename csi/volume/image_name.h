/* SPDX-License-Identifier: Apache-2.0 */
/* The RBD names of what we make. Each is derived from the request alone, so that a repeated request
 * finds what the first one made, and all begin with "imprint.", so that an operator sees whose they
 * are. A request's name is kept readable where RBD can bear it, and hashed where it cannot.
 *
 *   imprint.v.<name>   a volume               imprint.v-sha256.<hash>
 *   imprint.e.<id>     an ephemeral inline volume, by kubelet's id for it
 *   imprint.d.<id>     a deleted volume that snapshots still need, renamed out of the way
 *   imprint.s.<name>   a CSI snapshot         imprint.s-sha256.<hash>
 *
 * Passing snapshots have names of their own: lib/ceph/passing_name.h. */
#ifndef CSI_VOLUME_IMAGE_NAME_H
#define CSI_VOLUME_IMAGE_NAME_H

/* Everything of ours. */
#define IMAGE_NAME_PREFIX "imprint."
#define IMAGE_NAME_VOLUME_PREFIX "imprint.v"
#define IMAGE_NAME_INLINE_PREFIX "imprint.e"
#define IMAGE_NAME_DELETED_PREFIX "imprint.d."
#define IMAGE_NAME_SNAPSHOT_PREFIX "imprint.s"

/* Each to be freed. */
char *image_name_of_volume(const char *request_name);
char *image_name_of_inline(const char *kubelet_id);
char *image_name_of_deleted(const char *image_id);
char *image_name_of_snapshot(const char *request_name);
/* The object that claims the name of an RBD snapshot of ours (see lib/ceph/claim.h). */
char *image_name_of_claim(const char *snap_name);

#endif
