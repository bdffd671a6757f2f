/* SPDX-License-Identifier: Apache-2.0 */
/* Takes an image back to one of its snapshots, in place. */
#ifndef LIB_CEPH_ROLLBACK_H
#define LIB_CEPH_ROLLBACK_H

#include "lib/ceph/image_change.h"

struct rollback {
  const char *image_id;
  uint64_t snap_id;
  uint64_t size_bytes; /* at least so large afterwards; 0: as large as it was before */
  image_progress *progress;
  void *context;
};

/* FAILED_PRECONDITION while any client has the image open; NOT_FOUND when the snapshot is not there
 * (any more). Killed in the middle, the image is half of each: it must be called again. */
int rollback_image(struct location *location, const struct rollback *rollback, struct error **err);

#endif
