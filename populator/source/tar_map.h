/* SPDX-License-Identifier: Apache-2.0 */
/* Which pieces of a sparse file a tar archive has: the rest of the file is zeros that it does not
 * store. GNU tar writes such a map in four ways: into a header of its own kind ('S') and the blocks
 * behind it, into pax records as pairs (0.0) or as one list (0.1), and in front of the content
 * (1.0). Pure; everything is checked. */
#ifndef POPULATOR_SOURCE_TAR_MAP_H
#define POPULATOR_SOURCE_TAR_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* It is part of the state that an import keeps to be gone on with. */
#define TAR_MAP_MAX ((size_t)1 << 17)

struct tar_piece {
  uint64_t offset; /* in the file */
  uint64_t len;
};

struct tar_map {
  struct tar_piece *pieces; /* in their order, none overlaps another */
  size_t count;
};

void tar_map_clear(struct tar_map *map);
/* Behind those that are there. An empty piece says where the file ends, and is left out. */
int tar_map_add(struct tar_map *map, uint64_t offset, uint64_t len, struct error **err);
/* "0,512,4096,512": offsets and lengths, as pax has them. */
int tar_map_add_list(struct tar_map *map, const char *text, size_t len, struct error **err);
/* A file of `size` bytes, of which the archive has `stored`. */
int tar_map_check(const struct tar_map *map, uint64_t size, uint64_t stored, struct error **err);

#endif
