/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshot that an inline volume is a clone of. */
#ifndef NODEPLUGIN_INLINE_SOURCE_H
#define NODEPLUGIN_INLINE_SOURCE_H

#include "csi/volume/inline_request.h"
#include "lib/ceph/header.h"
#include "nodeplugin/node.h"

struct inline_source {
  struct location *location;
  char *image_name;
  char *image_id;
  char *snap_name;
  uint64_t snap_id;
  uint64_t size_bytes;
  char *handle; /* of the snapshot: one spelling, however it was asked for */
  struct header header;
};

/* NOT_FOUND, naming what is missing; PERMISSION_DENIED when the pod's namespace may not have it. */
int inline_source_find(struct node *node, const struct inline_request *request,
                       struct inline_source *ret_source, struct error **err);
void inline_source_clear(struct inline_source *source);

#endif
