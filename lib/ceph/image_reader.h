/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an image, or a snapshot of one, and tells which parts of it hold data. Read-only: it sets
 * no watch, so the image does not look in use. Any number of threads at once. */
#ifndef LIB_CEPH_IMAGE_READER_H
#define LIB_CEPH_IMAGE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/ceph/location.h"

struct image_reader;

/* snap_name NULL reads the image as it is, which somebody may be writing to. */
int image_reader_open(struct location *location, const char *name, const char *snap_name,
                      struct image_reader **ret_reader, struct error **err);
void image_reader_close(struct image_reader *reader);
DEFINE_CLEANUP(struct image_reader *, image_reader_close)

uint64_t image_reader_size(const struct image_reader *reader);
/* An object holds so many bytes. */
uint64_t image_reader_object_size(const struct image_reader *reader);
/* The image's id. */
const char *image_reader_id(const struct image_reader *reader);
/* The snapshot's id, which no other snapshot of the image ever had; 0 without one. */
uint64_t image_reader_snap_id(const struct image_reader *reader);

/* Exactly len bytes, which lie inside the size. */
int image_reader_read(struct image_reader *reader, void *buf, size_t len, uint64_t offset,
                      struct error **err);

/* Whether what is read is still there: RBD gives zeros, or newer data, for a snapshot that was
 * removed meanwhile, without a word. NOT_FOUND when it is not; what was read before is right. */
int image_reader_check(struct image_reader *reader, struct error **err);

struct image_extent {
  uint64_t offset;
  uint64_t len;
};

struct image_extents {
  struct image_extent *items; /* ascending, none touches the next */
  size_t count;
};

/* The parts of [offset, offset + len) that hold data, parents' data included; the rest reads as
 * zeros. With the object map this costs no read of data. */
int image_reader_extents(struct image_reader *reader, uint64_t offset, uint64_t len,
                         struct image_extents *ret_extents, struct error **err);
void image_extents_clear(struct image_extents *extents);

#endif
