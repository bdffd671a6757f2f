/* SPDX-License-Identifier: Apache-2.0 */
/* Bare librbd: an image made and written, or read, with so many requests under way. */
#ifndef BENCH_DATA_RBD_H
#define BENCH_DATA_RBD_H

#include "bench/data_extents.h"

struct data_place {
  const char *conf_file;
  const char *pool;
  const char *image;
};

/* From connecting to closing the image. */
int data_rbd_write(const struct data_place *place, const struct data_file *file,
                   struct error **err);
/* The same extents, into buffers that are thrown away. */
int data_rbd_read(const struct data_place *place, const struct data_file *file, struct error **err);

#endif
