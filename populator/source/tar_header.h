/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a tar archive that say what follows: ustar headers with the extensions of GNU, and
 * the records of pax. Pure: bytes in, values out, everything checked. */
#ifndef POPULATOR_SOURCE_TAR_HEADER_H
#define POPULATOR_SOURCE_TAR_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "populator/source/tar_map.h"

#define TAR_BLOCK ((size_t)512)
/* prefix, '/', name, NUL */
#define TAR_HEADER_NAME_MAX (155 + 1 + 100 + 1)
/* The longest path that a Linux system opens, with its NUL. */
#define TAR_PATH_MAX ((size_t)4096)

struct tar_header {
  char type; /* as in the archive: '0' … '7', 'x', 'g', 'L', 'K', 'S' …; '\0' is made '0' */
  char name[TAR_HEADER_NAME_MAX];
  char link[100 + 1];
  uint64_t size;      /* at most INT64_MAX */
  uint64_t real_size; /* of type 'S': of the file, holes included */
  bool is_extended;   /* of type 'S': a block that goes on with the map of holes follows */
};

/* Whether the block holds zeros only: two of them end an archive. */
bool tar_header_is_end(const unsigned char block[TAR_BLOCK]);
/* INVALID_ARGUMENT when the block is not a header. */
int tar_header_decode(const unsigned char block[TAR_BLOCK], struct tar_header *ret_header,
                      struct error **err);
/* The part of the map that stands in a header of type 'S'. */
int tar_header_map(const unsigned char block[TAR_BLOCK], struct tar_map *map, struct error **err);
/* The part in a block behind it; *ret_goes_on: another one follows. */
int tar_header_map_more(const unsigned char block[TAR_BLOCK], struct tar_map *map,
                        bool *ret_goes_on, struct error **err);

/* What stands in front of a header and counts in place of its fields; NULL and false: nothing. */
struct tar_overrides {
  char *path;
  char *link;
  bool has_size;
  uint64_t size;
  bool is_sparse;
  bool has_real_size;
  uint64_t real_size; /* of a sparse file */
  bool is_map_inside; /* it stands in front of the content (1.0) */
  char *real_path;    /* of a sparse file whose path is made up, for programs that know nothing */
  struct tar_map map; /* as far as records have it */
  bool has_offset;    /* of a piece whose length comes next (0.0) */
  uint64_t offset;
};

/* The records of a pax header ("27 path=…\n") on top of what is there. */
int tar_overrides_add_pax(struct tar_overrides *overrides, const char *data, size_t len,
                          struct error **err);
void tar_overrides_clear(struct tar_overrides *overrides);

#endif
