/* SPDX-License-Identifier: Apache-2.0 */
/* Images opened by librbd, for whoever changes them (image_change.h), takes snapshots of them
 * (image_snap.h) or writes to them (image_writer.h).
 *
 * An open image is shared: calls on the same image at the same time get the same librbd handle.
 * Two handles of one process would fight for the image's exclusive lock like two machines. */
#ifndef LIB_CEPH_IMAGE_H
#define LIB_CEPH_IMAGE_H

#include "lib/ceph/location.h"

struct image;
struct open_images;

/* Open for changes. Registers a watch: while it is open, others see the image in use. */
int image_open(struct location *location, const char *image_id, struct image **ret_image,
               struct error **err);
void image_close(struct image *image);
DEFINE_CLEANUP(struct image *, image_close)

const char *image_id(const struct image *image);
struct location *image_location(struct image *image);
/* The rbd_image_t, for the rest of lib/ceph. */
void *image_rbd(struct image *image);

/* One table a cluster connection; made and freed with it. */
struct open_images *open_images_new(void);
void open_images_free(struct open_images *images);

#endif
