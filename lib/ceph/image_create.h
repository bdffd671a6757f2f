/* SPDX-License-Identifier: Apache-2.0 */
/* Images made by librbd: blank, or as clones. */
#ifndef LIB_CEPH_IMAGE_CREATE_H
#define LIB_CEPH_IMAGE_CREATE_H

#include <stdint.h>

#include "lib/ceph/location.h"

/* 0 or NULL means what librbd takes by default; for a clone, what the parent has. */
struct image_layout {
  uint64_t features;
  uint64_t order;
  uint64_t stripe_unit;
  uint64_t stripe_count;
  const char *data_pool;
};

/* ALREADY_EXISTS when the name is taken, be it by an image that was never finished. */
int image_create(struct location *location, const char *name, uint64_t size_bytes,
                 const struct image_layout *layout, struct error **err);
/* A copy-on-write clone (version 2) of a snapshot. */
int image_clone(struct location *parent, const char *parent_name, const char *snap_name,
                struct location *location, const char *name, const struct image_layout *layout,
                struct error **err);

#endif
