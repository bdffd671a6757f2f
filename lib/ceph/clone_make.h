/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a copy-on-write clone of a snapshot.
 *
 * librbd opens the parent and the child for it, with watches and a dozen reads each, and grows a
 * clone that is to be larger in a third opening. All of that is known here: the parent's header was
 * read to find it. So the clone is put together by the methods of the object class, like a blank
 * image (image_make.h), in six small operations; it has its full size from the start. Whatever is
 * out of the ordinary is left to librbd, with the same result.
 *
 * The child names its parent before the parent counts the child, so that a clone which was never
 * finished is taken out of the count by whoever removes it. */
#ifndef LIB_CEPH_CLONE_MAKE_H
#define LIB_CEPH_CLONE_MAKE_H

#include "lib/ceph/children.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_create.h"

struct clone_request {
  struct image_snap parent;
  const char *parent_name; /* of the image, and of the snapshot */
  const char *parent_snap_name;
  uint64_t parent_bytes; /* of the snapshot */
  const struct header *parent_header;
  const char *name;
  uint64_t size_bytes; /* not below the parent's */
  const struct image_layout *layout;
};

/* The clone has all metadata of the parent's header, and no record of its own: it is unfinished
 * (see unfinished.h). ALREADY_EXISTS when the name is taken, NOT_FOUND when the snapshot is gone.
 * *ret_id is to be freed. */
int clone_make(const struct clone_request *request, struct location *location, char **ret_id,
               struct error **err);

#endif
