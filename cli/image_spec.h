/* SPDX-License-Identifier: Apache-2.0 */
/* "POOL[/NAMESPACE]/IMAGE[@SNAPSHOT]", as the rbd command writes it, or "volume:HANDLE", as
 * Kubernetes has it in a PersistentVolume, or "snapshot:HANDLE", as in a VolumeSnapshotContent. */
#ifndef CLI_IMAGE_SPEC_H
#define CLI_IMAGE_SPEC_H

#include <stdbool.h>

#include "lib/base/error.h"

struct image_spec {
  char *volume;          /* the handle; NULL: the image is named by what follows */
  char *snapshot_handle; /* of a snapshot of that volume, or NULL */
  char *pool;
  char *name_space; /* "" for none */
  char *image;      /* NULL: as is_allowed_gone */
  /* Of a volume, where opening its place does not fail when there is no such image any more. */
  bool is_allowed_gone;
  char *snapshot; /* NULL for none */
};

int image_spec_parse(const char *text, struct image_spec *ret_spec, struct error **err);
void image_spec_clear(struct image_spec *spec);

#endif
