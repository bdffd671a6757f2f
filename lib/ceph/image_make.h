/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a blank image together with its metadata.
 *
 * librbd makes the header before the object map, takes six operations and keeps the id to itself,
 * so that a record on the image would cost a read and a write more. Here the header comes last, and
 * brings the metadata along: the image and its record appear in one atomic step, after three
 * operations of which two go side by side. An image without a header was not made. Both do it by
 * the same methods of the object class; whatever is out of the ordinary (journals, data pools,
 * striping) is left to librbd. */
#ifndef LIB_CEPH_IMAGE_MAKE_H
#define LIB_CEPH_IMAGE_MAKE_H

#include "lib/base/string_map.h"
#include "lib/ceph/image.h"
#include "lib/ceph/image_create.h"

struct image_request {
  const char *name;
  uint64_t size_bytes;
  const struct image_layout *layout;
  /* What is to stand on the image; it may depend on the id, which is new. */
  void (*describe)(void *context, const char *image_id, struct string_map *metadata);
  void *context;
};

/* ALREADY_EXISTS when the name is taken, be it by an image that was never finished. *ret_id is to
 * be freed. */
int image_make(struct location *location, const struct image_request *request, char **ret_id,
               struct error **err);

#endif
