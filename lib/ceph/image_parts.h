/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that a new image consists of, written one by one by the methods of the object class,
 * as librbd writes them: an entry in the directory, the name, the object map, the header. In this
 * order, so that whatever is left half-way can be found by the directory (see unfinished.h). The
 * steps answer 0, or what Ceph answered. */
#ifndef LIB_CEPH_IMAGE_PARTS_H
#define LIB_CEPH_IMAGE_PARTS_H

#include "lib/base/string_map.h"
#include "lib/ceph/children.h"
#include "lib/ceph/image_create.h"

/* The image being made. */
struct image_parts {
  struct location *location;
  const char *name;
  char id[48];
  uint64_t size_bytes;
  uint64_t order;
  uint64_t features;
};

/* Whether nothing but the plain case is asked for, by the layout or by the cluster's configuration:
 * what is out of the ordinary (journals, data pools, striping) is left to librbd. */
bool image_parts_suffice(const struct location *location, const struct image_layout *layout);
/* The order that the cluster's configuration asks for. */
uint64_t image_parts_default_order(const struct location *location);

/* With a new id. */
void image_parts_begin(struct image_parts *parts, struct location *location, const char *name,
                       uint64_t size_bytes, uint64_t order, uint64_t features);
int image_parts_enter_in_directory(struct image_parts *parts);
/* The name and the object map, side by side. */
int image_parts_make_name_and_map(struct image_parts *parts);
/* `metadata` comes with it in one atomic step; may be NULL. */
int image_parts_make_header(struct image_parts *parts, const struct string_map *metadata);
/* The image becomes a clone, of which the first `bytes` are the parent's, and gets this metadata.
 * Not in one step with the header: what a method of the class reads was there before the step. */
int image_parts_name_parent(struct image_parts *parts, const struct image_snap *parent,
                            uint64_t bytes, const struct string_map *metadata);
/* The header is written: is the image still ours, or did somebody take us for dead meanwhile? Then
 * all is taken back, and the name was taken: ALREADY_EXISTS. From here on, whoever takes it away
 * dooms it first (see unfinished.h). */
int image_parts_confirm(struct image_parts *parts, struct error **err);
/* Takes back what was made before a step failed. */
void image_parts_remove(struct image_parts *parts, bool has_header);

#endif
