/* SPDX-License-Identifier: Apache-2.0 */
/* A volume as Ceph knows it: its image, and what the StorageClass said of it, as it stands on the
 * image. */
#ifndef NODEPLUGIN_VOLUME_H
#define NODEPLUGIN_VOLUME_H

#include "csi/volume/volume_id.h"
#include "lib/ceph/header.h"
#include "nodeplugin/node.h"

struct volume {
  struct volume_id id;
  struct location *location;
  char *image_name;
  struct header header;
  struct string_map settings; /* mapper, mapOptions, mkfsOptions, unmapOptions … */
};

/* A finished volume that is not deleted. NOT_FOUND when there is none, FAILED_PRECONDITION when its
 * cluster is not in the configuration. */
int volume_find(struct node *node, const char *volume_id, struct volume *ret_volume,
                struct error **err);
/* The same, or an inline volume: those are known by a handle to this node alone. */
int volume_find_any(struct node *node, const char *handle, struct volume *ret_volume,
                    struct error **err);
void volume_clear(struct volume *volume);

/* What the caller says of the volume must be what stands on the image, which nobody but Ceph's
 * users can write: INVALID_ARGUMENT that names what differs. */
int volume_check_context(const struct volume *volume, const struct string_map *context,
                         struct error **err);
/* "" where the StorageClass did not say. */
const char *volume_setting(const struct volume *volume, const char *name);

#endif
