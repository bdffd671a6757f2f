/* SPDX-License-Identifier: Apache-2.0 */
/* RBD images through librbd: made, cloned, opened, changed.
 *
 * An open image is shared: calls on the same image at the same time get the same librbd handle.
 * Two handles of one process would fight for the image's exclusive lock like two machines. */
#ifndef LIB_CEPH_IMAGE_H
#define LIB_CEPH_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/ceph/location.h"

struct image;
struct open_images;

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

/* Open for changes. Registers a watch: while it is open, others see the image in use. */
int image_open(struct location *location, const char *image_id, struct image **ret_image,
               struct error **err);
void image_close(struct image *image);
DEFINE_CLEANUP(struct image *, image_close)

/* Never shrinks: smaller than it is means nothing is done. */
int image_grow(struct image *image, uint64_t size_bytes, struct error **err);
/* Cuts it off behind size_bytes; what is there is lost. */
int image_cut(struct image *image, uint64_t size_bytes, struct error **err);
/* Gives back all that was written to it, so that it reads as zeros. */
int image_empty(struct image *image, struct error **err);
/* 0 to 100, called from librbd's thread; a negative return stops the work. */
typedef int image_progress(void *context, int percent);
/* Copies what the clone still reads from its parent and cuts the tie. May take long; what was
 * copied stays copied when it is stopped or killed. */
int image_flatten(struct image *image, image_progress *progress, void *context, struct error **err);
/* Fine when the name is there already; *ret_snap_id is its id either way. */
int image_snap_create(struct image *image, const char *snap_name, uint64_t *ret_snap_id,
                      struct error **err);
/* A snapshot with clones goes to the image's own trash and vanishes with the last of them.
 * Fine when it is gone. */
int image_snap_remove(struct image *image, uint64_t snap_id, struct error **err);
/* Tells every client that has the image open; NULL removes the key. */
int image_set_metadata(struct image *image, const char *key, const char *value, struct error **err);

const char *image_id(const struct image *image);
struct location *image_location(struct image *image);
/* The rbd_image_t, for the rest of lib/ceph. */
void *image_rbd(struct image *image);

/* One table a cluster connection; made and freed with it. */
struct open_images *open_images_new(void);
void open_images_free(struct open_images *images);

#endif
