/* SPDX-License-Identifier: Apache-2.0 */
/* Finds zeros, which are never written: a volume starts out as zeros. */
#ifndef POPULATOR_FORMAT_ZERO_H
#define POPULATOR_FORMAT_ZERO_H

#include <stdbool.h>
#include <stddef.h>

bool zero_is_all(const void *data, size_t len);

struct zero_run {
  size_t offset; /* into the data: a multiple of the granularity */
  size_t len;    /* likewise, but for the last block, which may be short */
};

/* The next run of blocks that hold anything but zeros, from offset `from` on, which is a multiple
 * of the granularity; false when only zeros are left. So that
 *
 *   for (size_t at = 0; zero_next_run(data, len, 4096, at, &run); at = run.offset + run.len)
 *
 * visits all there is to be written, in pieces that have no block of zeros in them. */
bool zero_next_run(const void *data, size_t len, size_t granularity, size_t from,
                   struct zero_run *ret_run);

#endif
