/* SPDX-License-Identifier: Apache-2.0 */
/* A disk in a file, mapped, and the parts of it that hold data: what an import would write. */
#ifndef BENCH_DATA_EXTENTS_H
#define BENCH_DATA_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

struct data_extent {
  uint64_t offset;
  size_t len;
};

struct data_file {
  const char *bytes; /* in memory by the time the file is open */
  uint64_t size;
  struct data_extent *extents; /* blocks of 64 KiB that are no zeros, none longer than an object */
  size_t count;
};

/* piece_bytes: no extent is longer, nor crosses a multiple of it. */
int data_file_open(const char *path, size_t piece_bytes, struct data_file *ret_file,
                   struct error **err);
void data_file_close(struct data_file *file);

#endif
