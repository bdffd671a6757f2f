/* SPDX-License-Identifier: Apache-2.0 */
/* Changes to an open image: its size, its content, its parent, its metadata. */
#ifndef LIB_CEPH_IMAGE_CHANGE_H
#define LIB_CEPH_IMAGE_CHANGE_H

#include <stdbool.h>

#include "lib/ceph/image.h"

/* Never shrinks: smaller than it is means nothing is done. */
int image_grow(struct image *image, uint64_t size_bytes, struct error **err);
/* Cuts it off behind size_bytes; what is there is lost. */
int image_cut(struct image *image, uint64_t size_bytes, struct error **err);
/* Gives back all that was written to it, so that it reads as zeros. */
int image_empty(struct image *image, struct error **err);
/* Whether nothing was ever written to it, nor to what it is a clone of. Where the image has an
 * object map that costs a single read, else a question for each object. */
int image_is_blank(struct image *image, bool *ret_is_blank, struct error **err);
/* 0 to 100, called from librbd's thread; a negative return stops the work. */
typedef int image_progress(void *context, int percent);
/* Copies what the clone still reads from its parent and cuts the tie. May take long; what was
 * copied stays copied when it is stopped or killed. Meanwhile nobody may take a snapshot
 * (flattener_mark.h), nor have the image or clones of it open for reading only: they
 * would not learn that they have to look elsewhere. */
int image_flatten(struct image *image, image_progress *progress, void *context, struct error **err);
/* Tells every client that has the image open; NULL removes the key. */
int image_set_metadata(struct image *image, const char *key, const char *value, struct error **err);

#endif
